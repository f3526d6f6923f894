"""The hierarchy of labels: a tree, a forest or any graph of children and parents without cycles."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from app.errors import InvalidContent

HierarchyFault = dict[str, str]

_MAX_LISTED_FAULTS = 100  # problems that are told one by one
_MAX_SHOWN_CYCLE_NODES = 10  # nodes of a cycle that are named
_REMEDY = 'Write every child with the list of its parents, e.g. {"poodle": ["dog"], "dog": ["animal"]}.'
_LIST_ALL_REMEDY = 'Where one node is listed as a root, list every node, e.g. {"poodle": ["dog"], "dog": []}.'
_CYCLE_REMEDY = "Take one of these steps out: no label may be an ancestor of itself."


@dataclass(frozen=True)
class Hierarchy:
    """Labels and their parents; make one with `Hierarchy.from_parents`.

    `nodes` are NFC names in order of declaration: a child, then its parents as they are listed; `parents[i]` are the
    positions of the parents of node i, as listed. `children` are the positions of the nodes whose parents the
    declaration lists, in its order.
    """

    nodes: tuple[str, ...]
    parents: tuple[tuple[int, ...], ...]
    children: tuple[int, ...]

    @classmethod
    def from_parents(cls, parents: Mapping[str, Sequence[str]]) -> "Hierarchy":
        """The hierarchy that {child: [parent, …]} declares; time and memory are linear in its size.

        A node without parents may be listed with an empty list. Where one is, all nodes have to be listed. Raises
        InvalidContent, with `errors` that point to each fault (RFC 6901), for names that are no strings or empty, a
        parent listed twice, a parent that is not listed, and for cycles, with their path.
        """
        listed, problems = _validate_declaration(parents)
        if problems:
            raise _invalid_hierarchy(problems, _REMEDY)
        if problems := _unlisted_parents(listed):
            raise _invalid_hierarchy(problems, _LIST_ALL_REMEDY)
        names = dict.fromkeys(name for child, above in listed.items() for name in (child, *above))
        position = {name: number for number, name in enumerate(names)}
        up = [tuple(position[name] for name in listed.get(node, ())) for node in names]
        made = cls(tuple(names), tuple(up), tuple(position[child] for child in listed))
        made._refuse_cycles()
        return made

    def unknown(self, classes: Iterable[str]) -> list[str]:
        """Those of the classes that are no nodes, in their order."""
        return [name for name in classes if name not in self.position]

    def parents_of(self, name: str) -> tuple[str, ...]:
        """The names of a node's parents as listed; KeyError where there is no such node."""
        return tuple(self.nodes[parent] for parent in self.parents[self.position[name]])

    def to_json(self) -> dict[str, list[str]]:
        """The declaration again: `Hierarchy.from_parents` makes an equal hierarchy of it."""
        return {self.nodes[child]: [self.nodes[parent] for parent in self.parents[child]] for child in self.children}

    @cached_property
    def position(self) -> dict[str, int]:
        """Where each node stands in `nodes`."""
        return {name: number for number, name in enumerate(self.nodes)}

    @cached_property
    def topological_order(self) -> tuple[int, ...]:
        """The nodes in an order where parents come before their children; nodes in or below a cycle are left out."""
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
        sound = set(self.topological_order)
        node = next(number for number in range(len(self.nodes)) if number not in sound)
        seen: dict[int, int] = {}
        while node not in seen:  # whatever is left has a parent that is left: going up ends in a cycle
            seen[node] = len(seen)
            node = next(parent for parent in self.parents[node] if parent not in sound)
        cycle = list(seen)[seen[node] :]
        first = cycle.index(min(cycle))
        path = [self.nodes[number] for number in cycle[first:] + cycle[:first]]
        told = (
            path
            if len(path) <= _MAX_SHOWN_CYCLE_NODES
            else [*path[: _MAX_SHOWN_CYCLE_NODES - 1], f"… ({len(path) - _MAX_SHOWN_CYCLE_NODES} more) …", path[-1]]
        )
        detail = "a cycle: " + " -> ".join([*told, path[0]])
        problem = {"pointer": _json_pointer(path[0]), "detail": detail}
        raise InvalidContent(f"The hierarchy has {detail}.", remedy=_CYCLE_REMEDY, errors=[problem])


def _invalid_hierarchy(problems: list[HierarchyFault], remedy: str) -> InvalidContent:
    more = "" if len(problems) == 1 else f" (and {len(problems) - 1} more problems)"
    message = f"The hierarchy is not valid: {problems[0]['detail']}{more}."
    return InvalidContent(message, remedy=remedy, errors=problems[:_MAX_LISTED_FAULTS])


def _validate_declaration(
    parents: Mapping[str, Sequence[str]],
) -> tuple[dict[str, tuple[str, ...]], list[HierarchyFault]]:
    """The declaration with NFC names, and what is wrong with it."""
    listed: dict[str, tuple[str, ...]] = {}
    problems: list[HierarchyFault] = []
    if not parents:
        problems.append({"pointer": "/parents", "detail": "it has no nodes"})
    for key, value in parents.items():
        child, fault = _normalize_name(key)
        if fault or child in listed:
            fault = fault or f"the child {child} is listed twice (Unicode forms compare equal after NFC)"
            problems.append({"pointer": _json_pointer(str(key)), "detail": fault})
            continue
        if isinstance(value, str) or not isinstance(value, Sequence):
            problems.append({"pointer": _json_pointer(key), "detail": f"the parents of {child} are not a list"})
            continue
        listed[child] = _validate_parent_list(key, child, value, problems)
    return listed, problems


def _validate_parent_list(
    key: str, child: str, value: Sequence[str], problems: list[HierarchyFault]
) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for number, entry in enumerate(value):
        parent, fault = _normalize_name(entry)
        if not fault and parent in found:
            fault = f"{child} lists its parent {parent} twice"
        if fault:
            problems.append({"pointer": _json_pointer(key, number), "detail": fault})
        else:
            found[parent] = None
    return tuple(found)


def _normalize_name(value: object) -> tuple[str, str]:
    """The NFC name and what is wrong with it, if anything."""
    if not isinstance(value, str):
        return "", f"a name has to be a string, not {type(value).__name__}"
    return unicodedata.normalize("NFC", value), "" if value else "a name is empty"


def _unlisted_parents(listed: Mapping[str, tuple[str, ...]]) -> list[HierarchyFault]:
    """Parents that are not listed themselves, where the declaration lists its roots."""
    if all(listed.values()):
        return []
    return [
        {"pointer": _json_pointer(child, number), "detail": f"{child} -> {parent}, and {parent} is not listed"}
        for child, above in listed.items()
        for number, parent in enumerate(above)
        if parent not in listed
    ]


def _json_pointer(child: str, number: int | None = None) -> str:
    """The JSON pointer of a child's list of parents, or of one of them."""
    written = "/parents/" + child.replace("~", "~0").replace("/", "~1")
    return written if number is None else f"{written}/{number}"
