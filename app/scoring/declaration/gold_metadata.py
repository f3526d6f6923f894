"""What may stand beside gold: training frequencies, weights, a hierarchy, costs, folds, groups, each declared once."""

import json
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.errors import InvalidContent, InvalidRequest
from app.gold_metadata import GOLD_METADATA
from app.scoring.declaration.metric_syntax import pluralize
from app.scoring.declaration.task import TaskKind, TaskSpec
from app.scoring.evaluation_input import Grouping
from app.scoring.hierarchy.hierarchy import Hierarchy

MAX_TRAIN_FREQUENCY = 2**53
CLASS_WEIGHT_RANGE = (1e-12, 1e12)  # the least and the greatest class weight that is not 0
MAX_COST = 1e12
MAX_FOLDS = 1000  # each is scored by itself
_MAX_LISTED_FAULTS = 100  # faults told one by one
_Faults = list[dict[str, str]]


@dataclass(frozen=True, slots=True)
class GoldMetadataKind:
    """One thing beside gold.

    `name` is its name in paths and options, `field` in JSON; `shape` shows how it is written, and `metavar` how the
    command line calls its file. `parse` makes its canonical JSON value of a JSON value or raises InvalidContent;
    `by_label` says that its keys are labels of the vocabulary, else they are ids.
    """

    name: str
    field: str
    shape: str
    parse: Callable[[Any], Any]
    is_keyed_by_label: bool = True


def _raise_if_faults(what: str, faults: _Faults, shape: str) -> None:
    if faults:
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        raise InvalidRequest(
            f"The {what} have faults: {faults[0]['pointer']} {faults[0]['detail']}{more}.",
            remedy=f"Write them like {shape}.",
            errors=faults[:_MAX_LISTED_FAULTS],
        )


def _json_pointer(*keys: str) -> str:
    return "".join("/" + key.replace("~", "~0").replace("/", "~1") for key in keys)


def _parse_object(value: Any, what: str, shape: str) -> dict[str, Any]:
    """A JSON object with its keys in NFC, of which no two are the same."""
    if not isinstance(value, dict) or not value:
        raise InvalidRequest(f"The {what} must be a JSON object that is not empty.", remedy=f"Write them like {shape}.")
    found = {unicodedata.normalize("NFC", key): item for key, item in value.items()}
    if len(found) < len(value):
        raise InvalidRequest(f"Two keys of the {what} are the same text after Unicode NFC.")
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= 1e300


def _object_parser(what: str, shape: str, valid: Callable[[Any], bool], must: str) -> Callable[[Any], dict[str, Any]]:
    """A parser of an object of one kind of values."""

    def parse(value: Any) -> dict[str, Any]:
        found = _parse_object(value, what, shape)
        _raise_if_faults(
            what,
            [{"pointer": _json_pointer(key), "detail": must} for key, item in found.items() if not valid(item)],
            shape,
        )
        return found

    return parse


_EXAMPLES = {kind.name: kind.example for kind in GOLD_METADATA}
_FREQUENCIES_EXAMPLE = _EXAMPLES["train-frequencies"]
_WEIGHTS_EXAMPLE = _EXAMPLES["class-weights"]
_COST_MATRIX_EXAMPLE = _EXAMPLES["cost-matrix"]
_HIERARCHY_EXAMPLE = _EXAMPLES["hierarchy"]
_PARTITION_EXAMPLE = _EXAMPLES["folds"]


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_TRAIN_FREQUENCY


def _is_weight(value: Any) -> bool:
    return _is_number(value) and (value == 0 or CLASS_WEIGHT_RANGE[0] <= value <= CLASS_WEIGHT_RANGE[1])


def _parse_class_weights(value: Any) -> dict[str, Any]:
    must = f"must be 0, or a number from {CLASS_WEIGHT_RANGE[0]:g} to {CLASS_WEIGHT_RANGE[1]:g}"
    found = _object_parser("class weights", _WEIGHTS_EXAMPLE, _is_weight, must)(value)
    if not any(found.values()):
        raise InvalidRequest("All class weights are 0; give at least one class a weight.")
    return found


def _parse_cost_matrix(value: Any) -> dict[str, dict[str, Any]]:
    found, faults = {}, []
    for gold, row in _parse_object(value, "costs", _COST_MATRIX_EXAMPLE).items():
        if not isinstance(row, dict):
            faults.append(
                {"pointer": _json_pointer(gold), "detail": "must be an object of a cost for each predicted label"}
            )
            continue
        found[gold] = _parse_object(row, f"costs of {gold}", _COST_MATRIX_EXAMPLE) if row else {}
        for label, cost in found[gold].items():
            if not _is_number(cost) or abs(cost) > MAX_COST:
                detail = f"must be a number from -{MAX_COST:g} to {MAX_COST:g}"
                faults.append({"pointer": _json_pointer(gold, label), "detail": detail})
    _raise_if_faults("costs", faults, _COST_MATRIX_EXAMPLE)
    return found


def _parse_hierarchy(value: Any) -> dict[str, list[str]]:
    """Children with their parents, of an object with `parents` (lists) or `parent` (one each); other keys are ignored."""
    if not isinstance(value, dict) or not ("parents" in value or "parent" in value):
        raise InvalidRequest(
            'The hierarchy must be a JSON object with "parents" or "parent".',
            remedy=f"Write it like {_HIERARCHY_EXAMPLE}.",
        )
    if "parents" in value and "parent" in value:
        raise InvalidRequest('The hierarchy has both "parents" and "parent".', remedy="Give one of the two.")
    several = "parents" in value
    given = value["parents" if several else "parent"]
    if not isinstance(given, dict):
        raise InvalidRequest(
            f'"{"parents" if several else "parent"}" must be an object.', remedy=f"Write it like {_HIERARCHY_EXAMPLE}."
        )
    if not several:
        given = {child: [] if parent is None else [parent] for child, parent in given.items()}
    return Hierarchy.of(given).to_json()


def _partition_parser(what: str, most: int | None = None) -> Callable[[Any], dict[str, str]]:
    """A parser of names by id, of which at most so many are different."""

    def valid(value: Any) -> bool:
        return (isinstance(value, str) and bool(value)) or (isinstance(value, int) and not isinstance(value, bool))

    read = _object_parser(what, _PARTITION_EXAMPLE, valid, "must be a name: a text or a whole number")

    def parse(value: Any) -> dict[str, str]:
        found = {key: str(part) for key, part in read(value).items()}
        different = len(set(found.values()))
        if most is not None and different > most:
            raise InvalidRequest(
                f"The {what} have {different} different names; at most {most} are scored.",
                remedy=f"Name the part that an id belongs to, not the id itself, like {_PARTITION_EXAMPLE}.",
            )
        return found

    return parse


_PARSERS: dict[str, Callable[[Any], Any]] = {
    "train-frequencies": _object_parser(
        "training frequencies",
        _FREQUENCIES_EXAMPLE,
        _is_count,
        f"must be a whole number from 0 to {MAX_TRAIN_FREQUENCY}",
    ),
    "class-weights": _parse_class_weights,
    "cost-matrix": _parse_cost_matrix,
    "hierarchy": _parse_hierarchy,
    "folds": _partition_parser("folds", MAX_FOLDS),
    "groups": _partition_parser("groups"),
}
_KEYED_BY_ID = frozenset({"folds", "groups"})

GOLD_METADATA_KINDS: dict[str, GoldMetadataKind] = {
    kind.name: GoldMetadataKind(
        kind.name, kind.field, kind.example, _PARSERS[kind.name], is_keyed_by_label=kind.name not in _KEYED_BY_ID
    )
    for kind in GOLD_METADATA
}


def check_metadata_labels(accessory: GoldMetadataKind, value: Any, classes: Sequence[str]) -> None:
    """Raise InvalidRequest where an accessory names labels outside the vocabulary, or a hierarchy lacks a class."""
    if accessory.field == "hierarchy":
        _check_hierarchy_nodes(value, classes)
        return
    if not accessory.is_keyed_by_label:
        return
    known = set(classes)
    named = dict.fromkeys(value)
    if accessory.field == "cost_matrix":
        named |= dict.fromkeys(label for row in value.values() for label in row)
    strange = [label for label in named if label not in known]
    if strange:
        raise InvalidRequest(
            f"{pluralize(len(strange), 'label is', 'labels are')} not among the classes: {', '.join(map(repr, strange[:5]))}.",
            errors=[
                {"pointer": _json_pointer(label), "detail": "is not among the classes"}
                for label in strange[:_MAX_LISTED_FAULTS]
            ],
        )


def _check_hierarchy_nodes(value: Mapping[str, Sequence[str]], classes: Sequence[str]) -> None:
    hierarchy = Hierarchy.of(value)
    strange = hierarchy.unknown(classes)
    if not strange:
        return
    listed = {hierarchy.nodes[child] for child in hierarchy.children}
    roots = [*strange, *(name for name in hierarchy.nodes if name not in listed)]
    shown = ", ".join(f"{json.dumps(name, ensure_ascii=False)}: []" for name in roots[:10])
    raise InvalidRequest(
        f"{pluralize(len(strange), 'class is no node', 'classes are not nodes')} of the hierarchy: {', '.join(map(repr, strange[:5]))}.",
        remedy=f"If they have no parents, list all roots beside the other nodes: {shown}{', …' if len(roots) > 10 else ''} "
        '(null in place of [] where the file has "parent").',
        errors=[
            {"pointer": "/parents" + _json_pointer(label), "detail": "is missing"}
            for label in strange[:_MAX_LISTED_FAULTS]
        ],
    )


def build_task_spec(
    task: TaskKind, classes: tuple[str, ...], positive_label: str | None, beside: Mapping[str, Any]
) -> TaskSpec:
    """The task with what stands beside the gold, canonical JSON values by field."""
    hierarchy = beside.get("hierarchy")
    return TaskSpec(
        task,
        classes,
        positive_label,
        beside.get("train_frequencies"),
        beside.get("class_weights"),
        None if hierarchy is None else Hierarchy.of(hierarchy),
        beside.get("cost_matrix"),
    )


def build_grouping(parts: Mapping[str, str] | None, what: str, ids: Sequence[str]) -> Grouping | None:
    """The parts of the instances with these ids, named in the order of the table; raises InvalidContent where one has none.

    Ids that are not scored may be in the table.
    """
    if parts is None:
        return None
    lacking = [name for name in ids if name not in parts]
    if lacking:
        raise InvalidContent(
            f"The {what} lack {len(lacking)} ids of the gold: {', '.join(lacking[:5])}.",
            remedy=f"Say for each id to which of the {what} it belongs.",
        )
    names = tuple(dict.fromkeys(parts[name] for name in ids))
    code = {name: number for number, name in enumerate(names)}
    return Grouping(names, np.array([code[parts[name]] for name in ids], dtype=np.int32))
