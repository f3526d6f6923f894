"""The vectorized reader of gold: from bytes to arrays without a Python string for any id."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from app.formats.content.decompression import DecompressionError
from app.formats.content.format_detection import FORMATS, FileKind
from app.formats.normalize import SPLITS, normalize_clean_texts
from app.formats.readers.strict_json import json_decoder
from app.formats.reading_rules import Limits
from app.formats.validation.gold_validation import scale_distinct_weights
from app.formats.validation.table_validation import has_repeated_labels
from app.formats.vectorized.id_join import LookupTables
from app.formats.vectorized.labels.dictionary_encoder import Codes, DictionaryEncoder, sorted_classes
from app.formats.vectorized.labels.gold_collector import JSON_NUMBER, GoldCollector, codes_in_order, sets_of_counts
from app.formats.vectorized.labels.label_reader import contains_reserved_name, read_layout
from app.formats.vectorized.span_window import SPAN_WINDOW_BYTES, open_window
from app.formats.vectorized.unsupported import UnsupportedLayout, require
from app.formats.weights import parse_exact_weight
from app.scoring.declaration.task import TaskKind
from app.scoring.evaluation_input import Labels
from app.scoring.string_table import MAX_STRING_BYTES, Int, StringTable

_USAGES = {"Public": "public", "Private": "private"}


@dataclass(frozen=True, slots=True)
class GoldArrays:
    """Gold of n instances, of which none is void, in the order of their ids unless `read_gold` was told otherwise.

    `classes` are the declared ones, or else the sorted labels. `splits` are positions in SPLITS; `weights` are whole
    numbers of the unit `weight_unit`, None where all are the same.
    """

    tables: LookupTables
    classes: tuple[str, ...]
    labels: Labels
    splits: NDArray[np.int8] | None
    weights: Int | None
    weight_unit: Fraction
    notes: Sequence[str]
    """What was tolerated in the file."""


def read_gold(
    stream: BinaryIO,
    kind: FileKind,
    *,
    task: TaskKind,
    classes: Sequence[str] | None,
    limits: Limits,
    sort: bool = True,
    window: int = SPAN_WINDOW_BYTES,
) -> GoldArrays | None:
    """The gold of a file; None where the strict reader must read it.

    `classes` are the declared ones (NFC), None where there are none. Without `sort` the instances stay in the order of
    the file. `window` is the number of bytes processed together.
    """
    # With limits at least this wide, no file that passes the checks below can exceed them, so they are not checked again.
    within_limits = limits.text_length >= MAX_STRING_BYTES and limits.nesting >= 8 and limits.columns >= 5
    if not within_limits:
        return None
    # In a task with one label each, gold may have sets of acceptable answers.
    for sets in (task == "multilabel",) if task != "multiclass" else (False, True):
        stream.seek(0)
        try:
            return _GoldFile(stream, kind, task, limits, sets=sets, sort=sort).read(classes, window)
        except (UnsupportedLayout, DecompressionError):
            continue
    return None


@dataclass(frozen=True, slots=True)
class _GoldFile:
    """A file of gold, and how to read it; its methods raise UnsupportedLayout."""

    stream: BinaryIO
    kind: FileKind
    task: TaskKind
    limits: Limits
    sets: bool
    sort: bool

    def read(self, classes: Sequence[str] | None, window: int) -> GoldArrays:
        """The whole gold."""
        known = None if classes is None else StringTable.build(classes)
        require((known is None) == (classes is None))
        labels = DictionaryEncoder(self.limits.classes if classes is None else len(classes), known)
        max_set_labels = self.limits.values if self.limits.sets is None else self.limits.sets
        found = GoldCollector(self.limits, labels, max_set_labels if self.sets else self.limits.records)
        # A file within this size cannot have too many values either, as no value is shorter than a byte.
        limits = replace(self.limits, expanded_bytes=min(self.limits.expanded_bytes, self.limits.values))
        text = open_window(self.stream, self.kind, limits, window)
        has_names = read_layout(text, self.kind.format, found, sets=self.sets)
        ids, order = found.id_table(sort=self.sort)
        codes, names = self._vocabulary(labels, classes)
        class_table = known or StringTable.build(names)
        if class_table is None:
            raise UnsupportedLayout
        tables = LookupTables(ids, class_table)
        require(not has_names or not contains_reserved_name(tables))
        splits, (weights, unit) = self._splits(found), self._weights(found)
        return GoldArrays(
            tables,
            names,
            self._labels(found, codes, order, len(names)),
            None if splits is None else splits[slice(None) if order is None else order],
            None if weights is None else weights[slice(None) if order is None else order],
            unit,
            text.notes,
        )

    def _vocabulary(self, labels: DictionaryEncoder, declared: Sequence[str] | None) -> tuple[Codes, tuple[str, ...]]:
        """The codes of all labels, and the classes."""
        codes = labels.codes()
        if declared is not None:
            return codes, tuple(declared)
        texts = labels.texts()
        require(normalize_clean_texts(texts, self.limits) == texts)
        classes, positions = sorted_classes(texts)
        return positions[codes], classes

    def _labels(self, found: GoldCollector, codes: Codes, order: Int | None, m: int) -> Labels:
        """The labels in the order of the ids, each instance with its own."""
        if not self.sets:
            require(len(codes) == found.id_count and not found.counts)
            return Labels(codes_in_order(codes, order))
        offsets = sets_of_counts(found.counts)
        require(len(offsets) == found.id_count + 1 and int(offsets[-1]) == len(codes))
        sizes = np.diff(offsets)
        # An empty set of acceptable answers makes an instance void.
        require(self.task == "multilabel" or sizes.all())
        require(not has_repeated_labels(codes, sizes.tolist(), m))
        labels = Labels(codes, offsets)
        return labels if order is None else labels.take(order)

    def _splits(self, found: GoldCollector) -> NDArray[np.int8] | None:
        """For each row of the file the position of its split in SPLITS; None without splits."""
        name = next((name for name in (b"split", b"Usage") if name in found.fields), None)
        if name is None:
            return None
        encoder = found.fields[name]
        texts = [_USAGES.get(text, text) if name == b"Usage" else text for text in encoder.texts()]
        require(set(texts) <= set(SPLITS))
        codes = encoder.codes()
        require(len(codes) == found.id_count)
        return np.array([SPLITS.index(text) for text in texts], dtype=np.int8)[codes]

    def _weights(self, found: GoldCollector) -> tuple[Int | None, Fraction]:
        """For each row of the file its weight as a whole number of units, and the unit; None if all are the same."""
        encoder = found.fields.get(b"weight")
        if encoder is None:
            return None, Fraction(1)
        codes = encoder.codes()
        require(len(codes) == found.id_count)
        values = list(self._parse_weights(encoder.texts()))
        scaled = scale_distinct_weights(values, np.bincount(codes, minlength=len(values)).tolist())
        if scaled is None:
            raise UnsupportedLayout
        integers, unit = np.array(scaled[0], dtype=np.int64), scaled[1]
        return (None, Fraction(1)) if (integers == 1).all() else (integers[codes], unit)

    def _parse_weights(self, texts: Sequence[str]) -> Iterator[Fraction]:
        """The exact values of weights as they are written."""
        decoder = json_decoder(self.limits, exact=True)
        is_table = bool(FORMATS[self.kind.format].separator)
        for text in texts:
            require(is_table or JSON_NUMBER.fullmatch(text) is not None)
            try:
                weight = parse_exact_weight(text if is_table else decoder.decode(text))
            except json.JSONDecodeError:
                raise UnsupportedLayout from None
            if weight is None:
                raise UnsupportedLayout
            yield weight
