"""The vectorized reader of ids alone: from a list, a template or a file of labels."""

from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from app.formats.content.decompression import DecompressionError
from app.formats.content.format_detection import FORMATS, FileKind
from app.formats.reading_rules import Limits
from app.formats.vectorized.id_join import LookupTables
from app.formats.vectorized.labels.dictionary_encoder import DictionaryEncoder
from app.formats.vectorized.labels.gold_collector import JSON_NUMBER, GoldCollector
from app.formats.vectorized.labels.json_columns import read_json_id_list
from app.formats.vectorized.labels.label_reader import contains_reserved_name, read_layout
from app.formats.vectorized.span_window import open_window
from app.formats.vectorized.unsupported import UnsupportedLayout, require
from app.scoring.string_table import MAX_STRING_BYTES, Spans, StringTable

_FIRST_PRINTABLE, _FIRST_NON_ASCII = 0x20, 0x80


@dataclass(slots=True)
class _IdCollector(GoldCollector):
    """Collects ids of printable ASCII, and ignores labels of printable ASCII, which may be empty as in a template."""

    is_json: bool = False

    def take_ids(self, spans: Spans) -> None:
        """Add the ids that come next in the file."""
        _require_printable(spans)
        # The zero-argument super() does not work in a class with slots that a decorator has replaced.
        GoldCollector.take_ids(self, spans)

    def take_labels(self, spans: Spans) -> None:
        """Ignore labels."""
        _require_printable(spans)

    def take_field(self, name: bytes, spans: Spans) -> None:
        """Ignore a further field, but keep the weights of JSON: these bytes may not be numbers."""
        _require_printable(spans)
        if self.is_json and name == b"weight":
            GoldCollector.take_field(self, name, spans)

    def require_numbers(self) -> None:
        """Raise UnsupportedLayout unless all weights that were kept are numbers of JSON's grammar."""
        weights = self.fields.get(b"weight")
        require(weights is None or all(map(JSON_NUMBER.fullmatch, weights.texts())))


def _require_printable(spans: Spans) -> None:
    words = spans.words(MAX_STRING_BYTES // 8)
    if words is None:
        raise UnsupportedLayout
    padding = 8 * len(words) * len(spans) - int(spans.lengths.sum())
    found = np.column_stack(words).view(np.uint8) if words else np.empty(0, dtype=np.uint8)
    require(np.count_nonzero(found < _FIRST_PRINTABLE) == padding and not (found >= _FIRST_NON_ASCII).any())


def read_ids(stream: BinaryIO, kind: FileKind, limits: Limits) -> StringTable | None:
    """The ids of a file by code points, each once; None where a reader with messages must read it."""
    for sets in (False, True, None):
        stream.seek(0)
        ids = _IdCollector(limits, DictionaryEncoder(0), is_json=not FORMATS[kind.format].separator)
        try:
            window = open_window(stream, kind, limits)
            if sets is None:
                require(kind.format == "json")
                read_json_id_list(window, ids)
                return ids.id_table()[0]
            has_names = read_layout(window, kind.format, ids, sets=sets)
            ids.require_numbers()
            table, _ = ids.id_table()
            require(not has_names or not contains_reserved_name(LookupTables(table, table)))
        except (UnsupportedLayout, DecompressionError):
            continue
        else:
            return table
    return None
