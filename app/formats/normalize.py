"""Normalizes the values of a file: ids and labels become NFC strings; invalid values are reported with their location.

The fast path checks whole columns; if a check fails or the file has weights, the slow path goes cell by cell. Both give
the same table for every valid file, and only the slow path reports problems.
"""

import unicodedata
from collections.abc import Sequence
from functools import partial
from itertools import chain

from app.formats.column_data import MissingValue, NormalizedTable, RawColumns, ignored_field_notes
from app.formats.content.utf8_decoding import has_excess_combining_marks, to_nfc
from app.formats.problems import Problem, build_problem, describe_value, quote, replace_surrogates
from app.formats.reading_rules import Limits
from app.formats.value_locations import Field
from app.formats.weights import WeightReader

SPLITS = ("public", "private")
IGNORED_SPLIT = "ignored"
"""The split of rows that Kaggle's solution files mark as Ignored; they are not scored."""
_TEXTS_PER_BATCH = 1 << 16
"""Texts checked together. Where many rows share a text, joining all of them could take far more memory than they do."""
_SPLIT_OF_KAGGLE_USAGE = {"Public": "public", "Private": "private", "Ignored": IGNORED_SPLIT}


def normalize_columns(columns: RawColumns) -> NormalizedTable:
    """Normalize ids, labels, splits and weights to texts and numbers."""
    if columns.splits is not None and columns.layout.name("split") == "Usage":
        usages = _SPLIT_OF_KAGGLE_USAGE
        columns.splits = [usages.get(split, split) if isinstance(split, str) else split for split in columns.splits]
    table = _normalize_clean_columns(columns) or _CellNormalizer(columns).run()
    table.notes.extend(ignored_field_notes([replace_surrogates(name) for name in columns.ignored]))
    return table


def normalize_clean_texts(values: Sequence[object], limits: Limits) -> list[str] | None:
    """The texts of a column of valid strings (not empty, not too long) and integers; None for any other column."""
    kinds = set(map(type, values))
    if not kinds <= {str, int}:
        return None
    texts: list[str] = list(map(str, values)) if int in kinds else list(values)  # type: ignore[arg-type]
    # Checked once per distinct text: in dictionary columns and label sets, few texts may stand for millions of values.
    distinct_texts = list(dict.fromkeys(texts))
    if not all(distinct_texts) or (distinct_texts and max(map(len, distinct_texts)) > limits.text_length):
        return None
    nfc_texts: dict[str, str] = {}
    for start in range(0, len(distinct_texts), _TEXTS_PER_BATCH):
        part = distinct_texts[start : start + _TEXTS_PER_BATCH]
        batch = "\n".join(part)
        if "\0" in batch:
            return None
        if not batch.isascii():
            if not _is_encodable(batch):
                return None
            if has_excess_combining_marks(batch) or not unicodedata.is_normalized("NFC", batch):
                nfc_texts.update(zip(part, (to_nfc(text, limits.text_length) for text in part), strict=True))
    return list(map(nfc_texts.get, texts, texts)) if nfc_texts else texts


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _normalize_clean_columns(columns: RawColumns) -> NormalizedTable | None:
    """The table of a file in which every cell is valid; None for any other file."""
    context = columns.context
    counts = None
    labels: Sequence[object] = columns.labels or ()
    if context.sets and columns.labels is not None:
        if set(map(type, labels)) - {list}:
            return None
        lists: Sequence[list[object]] = labels  # type: ignore[assignment]
        counts = list(map(len, lists))
        labels = list(chain.from_iterable(lists))
    ids, texts = normalize_clean_texts(columns.ids, context.limits), normalize_clean_texts(labels, context.limits)
    splits = columns.splits
    if splits is not None and not (set(map(type, splits)) <= {str} and set(splits) <= set(SPLITS)):
        return None
    if ids is None or texts is None or columns.weights is not None:
        return None
    return NormalizedTable(
        ids,
        None if columns.labels is None else texts,
        counts,
        columns.rows,
        columns.layout,
        splits=None if splits is None else [str(value) for value in splits],
        scores=columns.scores,
        unreadable_rows=columns.unreadable_rows,
    )


class _CellNormalizer:
    """The slow path: cell by cell, with every problem."""

    def __init__(self, columns: RawColumns) -> None:
        self.columns = columns
        self.context = columns.context
        self.weights = WeightReader(columns)
        self._nfc_texts: dict[str, str] = {}
        """Valid texts, in NFC."""

    def run(self) -> NormalizedTable:
        """Normalize all rows, in file order."""
        columns = self.columns
        ids: list[str | None] = []
        labels: list[str | None] = []
        counts: list[int] | None = [] if self.context.sets and columns.labels is not None else None
        splits: list[str | None] = []
        for number, row in enumerate(columns.rows):
            name = self._normalize_id(row, columns.ids[number])
            ids.append(name)
            if columns.labels is not None:
                cell = columns.labels[number]
                if counts is None:
                    labels.append(self._normalize_label(row, cell, name))
                else:
                    cell_labels = self._normalize_labels(row, cell, name)
                    labels.extend(cell_labels)
                    counts.append(len(cell_labels))
            if columns.splits is not None:
                splits.append(self._normalize_split(row, columns.splits[number], name))
            self.weights.take(row, number, name)
        return NormalizedTable(
            ids,
            None if columns.labels is None else labels,
            counts,
            columns.rows,
            columns.layout,
            splits=None if columns.splits is None else splits,
            weights=self.weights.values,
            scores=columns.scores,
            unreadable_rows=columns.unreadable_rows + ids.count(None),
        )

    def _normalize_id(self, row: int, value: object) -> str | None:
        if value is MissingValue.FAULT:
            return None
        got = describe_value(value)
        if value is None or value is MissingValue.ABSENT or value == "":
            message = f"The id is {'empty' if value == '' else 'null'}. Give each record the id of its instance."
            return self._refuse("missing_id", row, "id", message, expected="an id", got=got)
        if type(value) not in {str, int}:
            message = "An id must be a string or an integer. Write it in double quotes."
            return self._refuse("wrong_shape", row, "id", message, expected="a string", got=got)
        return self._normalize_text(row, "id", str(value), None, None)

    def _normalize_label(self, row: int, value: object, owner: str | None, item: int | None = None) -> str | None:
        if value is MissingValue.FAULT:
            return None
        if value == "":
            hint = "Remove it." if item is not None else "Give one of the classes."
            message = f"The label is empty. {hint}"
            return self._refuse("empty_label", row, "label", message, item=item, owner=owner, got='""')
        if type(value) not in {str, int}:
            is_absent = value is MissingValue.ABSENT
            fault = "The label is missing." if is_absent else "A label must be a string (or an integer)."
            message, got = f"{fault} {self.context.label_remedy}", describe_value(value)
            report = partial(self._refuse, item=item, owner=owner)
            return report("wrong_shape", row, "label", message, expected="a string", got=got)
        return self._normalize_text(row, "label", str(value), owner, item)

    def _normalize_labels(self, row: int, value: object, owner: str | None) -> list[str | None]:
        if type(value) is list:
            if set(map(type, value)) == {str} and self._nfc_texts.keys() >= set(value):
                return list(map(self._nfc_texts.__getitem__, value))
            return [self._normalize_label(row, label, owner, item) for item, label in enumerate(value)]
        if value is not MissingValue.FAULT:
            message = f"This task needs a list of labels for each instance. {self.context.label_remedy}"
            got = describe_value(value)
            self._refuse("wrong_shape", row, "label", message, owner=owner, expected="a list", got=got)
        return [None]

    def _normalize_split(self, row: int, value: object, owner: str | None) -> str | None:
        field_name = self.columns.layout.name("split")
        if value in SPLITS or value is MissingValue.FAULT or (field_name == "Usage" and value == IGNORED_SPLIT):
            return str(value)
        if value is MissingValue.ABSENT or value == "":
            message = f"This row has no {field_name}, but other rows do. Give it on all rows or on none."
            got = "nothing"
        else:
            names = "Public, Private or Ignored" if field_name == "Usage" else '"public" or "private"'
            message = f"{field_name} must be exactly {names}."
            got = describe_value(value)
        field: Field | None = None if value is MissingValue.ABSENT else "split"
        return self._refuse("wrong_shape", row, field, message, owner=owner, expected="public or private", got=got)

    def _normalize_text(self, row: int, field: Field, text: str, owner: str | None, item: int | None) -> str | None:
        """A text in NFC; None, and a problem, if it is invalid or too long."""
        nfc_text = self._nfc_texts.get(text)
        if nfc_text is not None:
            return nfc_text
        refuse = partial(self._refuse, row=row, field=field, item=item, owner=owner)
        if not text.isascii() and not _is_encodable(text):
            if self.columns.has_invalid_bytes and any("\udc80" <= sign <= "\udcff" for sign in text):
                return None
            message = (
                "The text contains an unpaired surrogate, which is not a character. Write the whole pair, or remove it."
            )
            return refuse("encoding", message=message, got=quote(text))
        if "\0" in text:
            return refuse(
                "encoding", message="The text contains the character NUL (U+0000). Remove it.", got=quote(text)
            )
        max_length = self.context.limits.text_length
        if len(text) > max_length:
            message = f"The text has {len(text)} characters; at most {max_length} are allowed. Shorten it."
            return refuse("too_large", message=message, expected=f"at most {max_length} characters", got=quote(text))
        return self._nfc_texts.setdefault(text, to_nfc(text, max_length))

    def _refuse(
        self,
        code: str,
        row: int,
        field: Field | None,
        message: str,
        *,
        item: int | None = None,
        owner: str | None = None,
        **details: str,
    ) -> str | None:
        """Report a problem of a cell and return None as its value."""
        layout = self.columns.layout

        def build() -> Problem:
            return build_problem(code, message, layout.locate(row, field, item), instance_id=owner, **details)

        self.context.problems.report(code, layout.order(row, item), build)
        return None
