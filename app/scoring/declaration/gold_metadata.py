"""Gold metadata, one declaration each: training frequencies, class weights, a hierarchy, costs, folds, groups, unknown cells."""

import json
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.errors import InvalidContent, InvalidRequest
from app.gold_metadata import GOLD_METADATA
from app.scoring.declaration.metric_syntax import pluralize
from app.scoring.declaration.task import TaskKind, TaskSpec
from app.scoring.evaluation_input import Grouping, Labels
from app.scoring.hierarchy.hierarchy import Hierarchy
from app.text.json_pointer import json_pointer

MAX_TRAIN_FREQUENCY = 2**53
CLASS_WEIGHT_RANGE = (1e-12, 1e12)  # the smallest and the largest class weight other than 0
MAX_COST = 1e12
MAX_FOLDS = 1000  # each fold is scored separately
_MAX_LISTED_FAULTS = 100  # faults reported one by one

_Faults = list[dict[str, str]]


@dataclass(frozen=True, slots=True)
class GoldMetadataKind:
    """One kind of gold metadata.

    `field` is its name in JSON, `name` its name in paths and options; `shape` is an example of its JSON. `parse` turns
    a JSON value into its canonical form or raises InvalidContent. Keys are labels of the vocabulary if
    `is_keyed_by_label`, otherwise instance ids.
    """

    field: str
    shape: str
    parse: Callable[[Any], Any]
    is_keyed_by_label: bool = True

    @property
    def name(self) -> str:
        """The name in paths and options: `train-frequencies` for `train_frequencies`."""
        return self.field.replace("_", "-")


def _fault(detail: str, *keys: str) -> dict[str, str]:
    return {"pointer": json_pointer(*keys), "detail": detail}


def _raise_if_faults(noun: str, faults: _Faults, shape: str) -> None:
    if faults:
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        raise InvalidRequest(
            f"The {noun} are not valid: {faults[0]['pointer']} {faults[0]['detail']}{more}.",
            remedy=f"Use a form such as {shape}.",
            errors=faults[:_MAX_LISTED_FAULTS],
        )


def _parse_object(value: Any, noun: str, shape: str) -> dict[str, Any]:
    """A non-empty JSON object with its keys in NFC; two keys may not become equal."""
    if not isinstance(value, dict) or not value:
        raise InvalidRequest(f"The {noun} must be a non-empty JSON object.", remedy=f"Use a form such as {shape}.")
    normalized = {unicodedata.normalize("NFC", key): item for key, item in value.items()}
    if len(normalized) < len(value):
        raise InvalidRequest(f"Two keys of the {noun} are equal after Unicode normalization (NFC).")
    return normalized


def _object_parser(noun: str, shape: str, valid: Callable[[Any], bool], must: str) -> Callable[[Any], dict[str, Any]]:
    """A parser of an object whose values all have to be `valid`; `must` is the message for a value that is not."""

    def parse(value: Any) -> dict[str, Any]:
        items = _parse_object(value, noun, shape)
        _raise_if_faults(noun, [_fault(must, key) for key, item in items.items() if not valid(item)], shape)
        return items

    return parse


_EXAMPLES = {kind.name: kind.example for kind in GOLD_METADATA}
_FREQUENCIES_EXAMPLE = _EXAMPLES["train-frequencies"]
_WEIGHTS_EXAMPLE = _EXAMPLES["class-weights"]
_COST_MATRIX_EXAMPLE = _EXAMPLES["cost-matrix"]
_HIERARCHY_EXAMPLE = _EXAMPLES["hierarchy"]
_PARTITION_EXAMPLE = _EXAMPLES["folds"]
_UNKNOWN_CELLS_EXAMPLE = _EXAMPLES["unknown-cells"]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= 1e300


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_TRAIN_FREQUENCY


def _is_weight(value: Any) -> bool:
    return _is_number(value) and (value == 0 or CLASS_WEIGHT_RANGE[0] <= value <= CLASS_WEIGHT_RANGE[1])


def _is_part_name(value: Any) -> bool:
    return (isinstance(value, str) and bool(value)) or (isinstance(value, int) and not isinstance(value, bool))


_parse_frequencies = _object_parser(
    "training frequencies", _FREQUENCIES_EXAMPLE, _is_count, f"must be a whole number from 0 to {MAX_TRAIN_FREQUENCY}"
)


def _parse_class_weights(value: Any) -> dict[str, Any]:
    must = f"must be 0, or a number from {CLASS_WEIGHT_RANGE[0]:g} to {CLASS_WEIGHT_RANGE[1]:g}"
    weights = _object_parser("class weights", _WEIGHTS_EXAMPLE, _is_weight, must)(value)
    if not any(weights.values()):
        raise InvalidRequest("All class weights are 0; give at least one class a weight.")
    return weights


def _parse_cost_matrix(value: Any) -> dict[str, dict[str, Any]]:
    matrix, faults = {}, []
    for gold, row in _parse_object(value, "costs", _COST_MATRIX_EXAMPLE).items():
        if not isinstance(row, dict):
            faults.append(_fault("must be an object with a cost for each predicted label", gold))
            continue
        matrix[gold] = _parse_object(row, f"costs of {gold}", _COST_MATRIX_EXAMPLE) if row else {}
        for label, cost in matrix[gold].items():
            if not _is_number(cost) or abs(cost) > MAX_COST:
                faults.append(_fault(f"must be a number from -{MAX_COST:g} to {MAX_COST:g}", gold, label))
    _raise_if_faults("costs", faults, _COST_MATRIX_EXAMPLE)
    return matrix


def _parse_hierarchy(value: Any) -> dict[str, list[str]]:
    """Each child with its parents, from an object with `parents` (lists) or `parent` (one each); ignores other keys."""
    remedy = f"Use a form such as {_HIERARCHY_EXAMPLE}."
    fields = [name for name in ("parents", "parent") if isinstance(value, dict) and name in value]
    if not fields:
        raise InvalidRequest('The hierarchy must be a JSON object with "parents" or "parent".', remedy=remedy)
    if len(fields) > 1:
        raise InvalidRequest('The hierarchy has both "parents" and "parent".', remedy="Use only one of the two.")
    parents = value[fields[0]]
    if not isinstance(parents, dict):
        raise InvalidRequest(f'"{fields[0]}" must be an object.', remedy=remedy)
    if fields[0] == "parent":
        parents = {child: [] if parent is None else [parent] for child, parent in parents.items()}
    return Hierarchy.from_parents(parents).to_json()


def _parse_unknown_cells(value: Any) -> dict[str, list[str]]:
    """The labels of each id that the gold leaves open, each once, in NFC."""
    cells, faults = {}, []
    for name, labels in _parse_object(value, "unknown cells", _UNKNOWN_CELLS_EXAMPLE).items():
        if not isinstance(labels, list) or not labels or not all(isinstance(each, str) and each for each in labels):
            faults.append(_fault("must be a list of labels", name))
            continue
        cells[name] = [unicodedata.normalize("NFC", label) for label in labels]
        if len(set(cells[name])) < len(labels):
            faults.append(_fault("lists a label twice", name))
    _raise_if_faults("unknown cells", faults, _UNKNOWN_CELLS_EXAMPLE)
    return cells


def _partition_kind(field: str, max_parts: int | None = None) -> GoldMetadataKind:
    """Metadata that names a part for each id, with at most `max_parts` distinct names."""
    read = _object_parser(field, _PARTITION_EXAMPLE, _is_part_name, "must be a name: a string or an integer")

    def parse(value: Any) -> dict[str, str]:
        partition = {key: str(part) for key, part in read(value).items()}
        count = len(set(partition.values()))
        if max_parts is not None and count > max_parts:
            raise InvalidRequest(
                f"The {field} have {count} different names; at most {max_parts} are scored.",
                remedy=f"Map each id to the name of its part, such as {_PARTITION_EXAMPLE}.",
            )
        return partition

    return GoldMetadataKind(field, _PARTITION_EXAMPLE, parse, is_keyed_by_label=False)


_KINDS = (
    GoldMetadataKind("train_frequencies", _FREQUENCIES_EXAMPLE, _parse_frequencies),
    GoldMetadataKind("class_weights", _WEIGHTS_EXAMPLE, _parse_class_weights),
    GoldMetadataKind("cost_matrix", _COST_MATRIX_EXAMPLE, _parse_cost_matrix),
    GoldMetadataKind("hierarchy", _HIERARCHY_EXAMPLE, _parse_hierarchy),
    _partition_kind("folds", MAX_FOLDS),
    _partition_kind("groups"),
    GoldMetadataKind("unknown_cells", _UNKNOWN_CELLS_EXAMPLE, _parse_unknown_cells, is_keyed_by_label=False),
)
GOLD_METADATA_KINDS: dict[str, GoldMetadataKind] = {kind.name: kind for kind in _KINDS}


def check_metadata_labels(kind: GoldMetadataKind, value: Any, classes: Sequence[str]) -> None:
    """Raise InvalidRequest if metadata name labels outside the vocabulary, or if a hierarchy lacks a class."""
    if kind.field == "hierarchy":
        _check_hierarchy_nodes(value, classes)
        return
    if kind.field == "unknown_cells":
        labels = dict.fromkeys(label for cells in value.values() for label in cells)
    elif kind.is_keyed_by_label:
        labels = dict.fromkeys(value)
    else:
        return
    known = set(classes)
    if kind.field == "cost_matrix":
        labels |= dict.fromkeys(label for row in value.values() for label in row)
    unknown = [label for label in labels if label not in known]
    if unknown:
        count = pluralize(len(unknown), "label is", "labels are")
        raise InvalidRequest(
            f"{count} not among the classes: {', '.join(map(repr, unknown[:5]))}.",
            errors=[_fault("is not among the classes", label) for label in unknown[:_MAX_LISTED_FAULTS]],
        )


def _check_hierarchy_nodes(value: Mapping[str, Sequence[str]], classes: Sequence[str]) -> None:
    hierarchy = Hierarchy.from_parents(value)
    unknown = hierarchy.unknown(classes)
    if not unknown:
        return
    listed = {hierarchy.nodes[child] for child in hierarchy.children}
    roots = [*unknown, *(name for name in hierarchy.nodes if name not in listed)]
    lines = ", ".join(f"{json.dumps(name, ensure_ascii=False)}: []" for name in roots[:10])
    what = pluralize(len(unknown), "class is not a node", "classes are not nodes")
    raise InvalidRequest(
        f"{what} of the hierarchy: {', '.join(map(repr, unknown[:5]))}.",
        remedy=f"If they have no parents, list all roots along with the other nodes: {lines}"
        f'{", …" if len(roots) > 10 else ""} (null instead of [] if the file has "parent").',
        errors=[_fault("is missing", "parents", label) for label in unknown[:_MAX_LISTED_FAULTS]],
    )


def build_task_spec(
    task: TaskKind, classes: tuple[str, ...], positive_label: str | None, metadata: Mapping[str, Any]
) -> TaskSpec:
    """The task with its gold metadata, given as canonical JSON values by field."""
    hierarchy = metadata.get("hierarchy")
    return TaskSpec(
        task,
        classes,
        positive_label,
        metadata.get("train_frequencies"),
        metadata.get("class_weights"),
        None if hierarchy is None else Hierarchy.from_parents(hierarchy),
        metadata.get("cost_matrix"),
    )


def build_unknown_cells(
    cells: Mapping[str, Sequence[str]], spec: TaskSpec, ids: Sequence[str], gold: Labels, unscored: Collection[str]
) -> Labels | None:
    """The unknown cells of the instances with these ids, as label sets in the order of the ids; None without any.

    `unscored` are further ids of the gold file, whose cells are ignored. Raises InvalidContent for a task of single
    labels, an id that is not in the gold, a label that is not among the classes, and a cell that the gold knows.
    """
    if spec.task != "multilabel":
        remedy = "Remove the unknown cells: an instance whose only label is unknown is left out as a void instance."
        raise InvalidContent("Only multi-label gold can have unknown cells.", remedy=remedy)
    check_metadata_labels(GOLD_METADATA_KINDS["unknown-cells"], cells, spec.classes)
    row_of = {name: row for row, name in enumerate(ids)}
    foreign = [name for name in cells if name not in row_of and name not in unscored]
    if foreign:
        what = pluralize(len(foreign), "id that is not in the gold", "ids that are not in the gold")
        raise InvalidContent(
            f"The unknown cells name {what}: {', '.join(foreign[:5])}.", remedy="Use the ids of the gold file."
        )
    code = {name: number for number, name in enumerate(spec.classes)}
    rows = sorted(
        (row_of[name], sorted(code[label] for label in labels)) for name, labels in cells.items() if name in row_of
    )
    sizes = np.zeros(len(ids), dtype=np.int64)
    sizes[[row for row, _ in rows]] = [len(codes) for _, codes in rows]
    codes = np.array([number for _, codes in rows for number in codes], dtype=np.int32)
    unknown = Labels(codes, np.concatenate([[0], np.cumsum(sizes)]))
    known = unknown.overlap(gold, len(spec.classes))
    if known.any():
        at = int(np.flatnonzero(known)[0])
        where = f"'{spec.classes[codes[at]]}' of '{ids[unknown.rows[at]]}'"
        raise InvalidContent(
            f"The gold gives {where}, so this cell is not unknown ({int(known.sum())} such).",
            remedy="Remove the label from the gold, or the cell from the unknown cells.",
        )
    return unknown if len(codes) else None


def build_grouping(parts: Mapping[str, str] | None, noun: str, ids: Sequence[str]) -> Grouping | None:
    """The parts of the instances with these ids; raises InvalidContent if an id has none.

    Parts are named in the order in which they first occur among the ids. `parts` may list ids that are not scored.
    """
    if parts is None:
        return None
    lacking = [name for name in ids if name not in parts]
    if lacking:
        raise InvalidContent(
            f"The {noun} lack {len(lacking)} ids of the gold: {', '.join(lacking[:5])}.",
            remedy=f"Assign each id to one of the {noun}.",
        )
    names = tuple(dict.fromkeys(parts[name] for name in ids))
    code = {name: number for number, name in enumerate(names)}
    return Grouping(names, np.array([code[parts[name]] for name in ids], dtype=np.int32))
