"""Fields of gold that must not be ignored: their names are almost those that gold knows."""

from collections.abc import Collection, Mapping

from app.formats.column_data import ReaderContext

_ADVICE = {
    "split": ', and use the values "public" and "private".',
    "weight": ", and give a number for each instance.",
}
_SYNONYMS = {
    **dict.fromkeys(("splits", "usage"), "split"),
    **dict.fromkeys(("weights", "sample_weight", "sample_weights", "instance_weight", "instance_weights"), "weight"),
}
# By the name that a misspelt one is compared with, the name to use.
OUTER_FIELDS: Mapping[str, str] = {"weight": "weight", "split": "split", "usage": "Usage"}
"""For keys beside a list of records, of which others may mean anything, such as `labels` the vocabulary."""
RECORD_FIELDS: Mapping[str, str] = {**OUTER_FIELDS, "label": "label", "labels": "labels", "id": "id"}
"""For columns of a table, and fields of records."""
LIST_FIELDS: Mapping[str, str] = {**OUTER_FIELDS, "labels": "labels", "label": "labels", "ids": "ids", "id": "ids"}
"""For lists and arrays, whose names are in the plural."""


def gold_field_refusal(
    name: str, context: ReaderContext, known: Mapping[str, str] = RECORD_FIELDS, *, columns: Collection[str] = ()
) -> str | None:
    """Why gold must not ignore this field, which is not read; None if it may.

    `columns` are all columns of the table. If each declared class has one, as in a file of scores, none is misspelt.
    """
    if not context.gold or name in {"split", "weight", known.get("id")}:
        return None
    if name in {"label", "labels"} & known.keys():
        return "Both 'label' and 'labels' are given. Keep only one of them: 'labels' for sets of labels."
    if context.classes and name in context.classes and set(context.classes) <= set(columns):
        return None
    meant = _meant_field(name.casefold(), known)
    if meant is None:
        return None
    advice = _ADVICE.get(meant, ". If it means something else, give it another name, or remove it.")
    return f"Did you mean '{meant}'? Rename '{name}' to '{meant}'{advice}"


def _meant_field(name: str, known: Mapping[str, str]) -> str | None:
    meant = next((known[field] for field in known if is_within_one_edit(name, field)), None)
    return _SYNONYMS.get(name, meant)


def is_within_one_edit(name: str, other: str) -> bool:
    """Whether inserting, deleting or substituting one character, or swapping two neighbours, makes them equal."""
    if abs(len(name) - len(other)) > 1:
        return False
    start = next((at for at, pair in enumerate(zip(name, other, strict=False)) if pair[0] != pair[1]), None)
    if start is None:
        return True
    rest, others = name[start:], other[start:]
    is_swapped = rest[:2] == others[1::-1] and rest[2:] == others[2:]
    return is_swapped or rest[1:] == others[1:] or rest[1:] == others or rest == others[1:]
