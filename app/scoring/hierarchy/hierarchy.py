"""The hierarchy of labels: a tree, a forest or any other directed acyclic graph of children and parents."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from app.errors import InvalidContent
from app.text.json_pointer import json_pointer

HierarchyFault = dict[str, str]

_MAX_LISTED_FAULTS = 100  # faults reported one by one
_MAX_SHOWN_CYCLE_NODES = 10  # nodes of a cycle named in the report
_REMEDY = 'Write every child with the list of its parents, e.g. {"poodle": ["dog"], "dog": ["animal"]}.'
_LIST_ALL_REMEDY = 'If one node is listed as a root, list every node, e.g. {"poodle": ["dog"], "dog": []}.'
_CYCLE_REMEDY = "Remove one of these links: no label may be an ancestor of itself."


@dataclass(frozen=True)
class Hierarchy:
    """Labels and their parents; create one with `Hierarchy.from_parents`.

    `nodes` are NFC names in order of declaration: each child, followed by its parents as listed. `parents[i]` are the
    positions of the parents of node i, as listed. `children` are the positions of the nodes whose parents the
    declaration lists, in its order.
    """

    nodes: tuple[str, ...]
    parents: tuple[tuple[int, ...], ...]
    children: tuple[int, ...]

    @classmethod
    def from_parents(cls, parents: Mapping[str, Sequence[str]]) -> "Hierarchy":
        """The hierarchy that {child: [parent, …]} declares; time and memory are linear in its size.

        A node without parents may be listed with an empty list. If one is, all nodes must be listed. Raises
        InvalidContent, with `errors` that point to each fault (RFC 6901), for a name that is not a string or is empty,
        a parent listed twice, a parent that is not listed, and a cycle, with its path.
        """
        declaration, faults = _validate_declaration(parents)
        if faults:
            raise _invalid_hierarchy(faults, _REMEDY)
        if faults := _unlisted_parents(declaration):
            raise _invalid_hierarchy(faults, _LIST_ALL_REMEDY)
        names = dict.fromkeys(name for child, above in declaration.items() for name in (child, *above))
        position = {name: number for number, name in enumerate(names)}
        parent_positions = tuple(tuple(position[name] for name in declaration.get(node, ())) for node in names)
        hierarchy = cls(tuple(names), parent_positions, tuple(position[child] for child in declaration))
        hierarchy._refuse_cycles()
        return hierarchy

    def unknown(self, classes: Iterable[str]) -> list[str]:
        """The classes that are not nodes of the hierarchy, in their order."""
        return [name for name in classes if name not in self.position]

    def parents_of(self, name: str) -> tuple[str, ...]:
        """The names of a node's parents as listed; raises KeyError for an unknown node."""
        return tuple(self.nodes[parent] for parent in self.parents[self.position[name]])

    def to_json(self) -> dict[str, list[str]]:
        """The declaration, from which `Hierarchy.from_parents` builds an equal hierarchy."""
        return {self.nodes[child]: [self.nodes[parent] for parent in self.parents[child]] for child in self.children}

    @cached_property
    def position(self) -> dict[str, int]:
        """The position of each node in `nodes`."""
        return {name: number for number, name in enumerate(self.nodes)}

    @cached_property
    def topological_order(self) -> tuple[int, ...]:
        """The nodes in an order where parents precede their children; nodes in or below a cycle are left out."""
        below: list[list[int]] = [[] for _ in self.nodes]
        for child, above in enumerate(self.parents):
            for parent in above:
                below[parent].append(child)
        waiting = [len(above) for above in self.parents]
        order = [node for node, count in enumerate(waiting) if not count]
        for node in order:  # grows while it is read
            for child in below[node]:
                waiting[child] -= 1
                if not waiting[child]:
                    order.append(child)
        return tuple(order)

    def _refuse_cycles(self) -> None:
        if len(self.topological_order) == len(self.nodes):
            return
        acyclic = set(self.topological_order)
        node = next(number for number in range(len(self.nodes)) if number not in acyclic)
        visited: dict[int, int] = {}
        while node not in visited:  # every node outside `acyclic` has such a parent too, so going up ends in a cycle
            visited[node] = len(visited)
            node = next(parent for parent in self.parents[node] if parent not in acyclic)
        cycle = list(visited)[visited[node] :]
        first = cycle.index(min(cycle))
        path = [self.nodes[number] for number in cycle[first:] + cycle[:first]]
        start, more = path[0], len(path) - _MAX_SHOWN_CYCLE_NODES
        if more > 0:
            path[_MAX_SHOWN_CYCLE_NODES - 1 : -1] = [f"… ({more} more) …"]
        fault = _fault("a cycle: " + " -> ".join([*path, start]), start)
        raise InvalidContent(f"The hierarchy has {fault['detail']}.", remedy=_CYCLE_REMEDY, errors=[fault])


def _fault(detail: str, *keys: object) -> HierarchyFault:
    """A fault in a child's list of parents, or in one of them."""
    return {"pointer": json_pointer("parents", *keys), "detail": detail}


def _invalid_hierarchy(faults: list[HierarchyFault], remedy: str) -> InvalidContent:
    more = "" if len(faults) == 1 else f" (and {len(faults) - 1} more problems)"
    message = f"The hierarchy is not valid: {faults[0]['detail']}{more}."
    return InvalidContent(message, remedy=remedy, errors=faults[:_MAX_LISTED_FAULTS])


def _validate_declaration(
    parents: Mapping[str, Sequence[str]],
) -> tuple[dict[str, tuple[str, ...]], list[HierarchyFault]]:
    """The declaration with NFC names, and its faults."""
    declaration: dict[str, tuple[str, ...]] = {}
    faults = [] if parents else [_fault("it has no nodes")]
    for key, value in parents.items():
        child, detail = _normalize_name(key)
        if detail or child in declaration:
            faults.append(_fault(detail or f"the child {child} is listed twice (equal after Unicode NFC)", key))
        elif isinstance(value, str) or not isinstance(value, Sequence):
            faults.append(_fault(f"the parents of {child} are not a list", key))
        else:
            declaration[child] = _validate_parent_list(key, child, value, faults)
    return declaration, faults


def _validate_parent_list(key: str, child: str, value: Sequence[str], faults: list[HierarchyFault]) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for number, entry in enumerate(value):
        parent, detail = _normalize_name(entry)
        if not detail and parent in names:
            detail = f"{child} lists its parent {parent} twice"
        if detail:
            faults.append(_fault(detail, key, number))
        else:
            names[parent] = None
    return tuple(names)


def _normalize_name(value: object) -> tuple[str, str]:
    """The NFC name, and what is wrong with it, if anything."""
    if not isinstance(value, str):
        return "", f"a name must be a string, not {type(value).__name__}"
    return unicodedata.normalize("NFC", value), "" if value else "a name is empty"


def _unlisted_parents(declaration: Mapping[str, tuple[str, ...]]) -> list[HierarchyFault]:
    """Parents that are not listed themselves, if the declaration lists its roots."""
    if all(declaration.values()):
        return []
    return [
        _fault(f"{child} -> {parent}, and {parent} is not listed", child, number)
        for child, above in declaration.items()
        for number, parent in enumerate(above)
        if parent not in declaration
    ]
