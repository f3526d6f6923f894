"""How much of a file is read: what a phase can use of it, with a generous allowance."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.formats.reading_rules import Limits
from app.scoring.string_table import StringTable

_EXTRA_ROWS = 1000
"""Rows beside those of the instances; a quarter of these come on top of it."""
BASE_FILE_BYTES = 8 << 20
"""Bytes beside those of the instances: of any file this much is read."""
_EXTRA_VALUES = 1 << 20
"""Values beside those of the instances."""
_EXTRA_LABELS = 1 << 18
"""Labels in sets beside those of the instances."""
_EXTRA_MEMBERS = 2000
"""Members of compressed data beside one for each of so many instances as follow; each costs a tenth of a millisecond."""
_INSTANCES_PER_MEMBER = 16
_MAX_MEMBERS = 10_000
_EXTRA_BYTES_PER_RECORD, _EXTRA_VALUES_PER_RECORD = 1024, 32
"""What a record may have of fields that are ignored, of names, signs and white space; and of labels that are no classes."""
_BYTES_PER_LONG_TEXT, _MAX_LONG_TEXTS = 5120, 16_384
"""Beside that: a text of some pages that is sent along with each of so many instances."""
_EXTRA_BYTES_PER_PAIR, _EXTRA_VALUES_PER_PAIR = 128, 16
"""What each row of a table of pairs may have beside its id: the label, an index, a score, and what is ignored."""
_BYTES_PER_ESCAPED_CHARACTER = 6
"""Bytes of a character as an escape of JSON, such as \\u00e9."""
_BYTES_PER_SCORE = 64
"""Bytes of a number with the signs and the white space around it."""
_BASE_DECODING_SECONDS, _DECODING_SECONDS_PER_CELL, _DECODING_SECONDS_PER_TEXT_BYTE = 0.75, 40e-9, 0.5e-9
"""Seconds in which a library may decode a file of columns: for any, and more for each cell and each byte of its texts."""


@dataclass(frozen=True, slots=True)
class PhaseSize:
    """What a phase needs of a file: a row for each of its instances, those that are not scored included.

    Sizes are in bytes of UTF-8; `class_names_bytes` is that of the names of all classes together.
    """

    instances: int
    longest_id_bytes: int
    classes: int
    class_names_bytes: int

    @classmethod
    def of(
        cls, ids: Sequence[str] | StringTable, classes: Sequence[str] | StringTable, *, void: Collection[str] = ()
    ) -> "PhaseSize":
        """The needs of these ids, of others that are not scored, and these classes."""
        return cls(
            len(ids) + len(void),
            max(_longest_text_bytes(ids), _longest_text_bytes(tuple(void))),
            len(classes),
            _total_bytes(classes),
        )


def limits_for_phase(phase: PhaseSize, limits: Limits, *, pairs: bool = False) -> Limits:
    """The limits of a file for such a phase: never beyond those of the site.

    `pairs`: it is a table with a row for each pair of instance and label.
    """
    n, m = phase.instances, phase.classes
    rows = n + n // 4 + _EXTRA_ROWS
    by_pair = n * m + rows if pairs else 0
    answer = 2 * (
        _BYTES_PER_ESCAPED_CHARACTER * phase.class_names_bytes + _BYTES_PER_SCORE * m
    )  # labels, and a score of each
    record = _EXTRA_BYTES_PER_RECORD + 2 * _BYTES_PER_ESCAPED_CHARACTER * phase.longest_id_bytes + answer
    cells, letters = (
        rows * (m + 2) + 2 * by_pair,
        rows * phase.class_names_bytes + (rows + by_pair) * phase.longest_id_bytes,
    )
    texts = min(n, _MAX_LONG_TEXTS) * _BYTES_PER_LONG_TEXT + by_pair * (_EXTRA_BYTES_PER_PAIR + phase.longest_id_bytes)
    return replace(
        limits,
        instances=n,
        records=min(limits.records, rows),
        pairs=min(limits.records, by_pair) if pairs else None,
        labels=m + m // 4 + _EXTRA_ROWS if pairs else None,
        sets=min(
            limits.values if limits.sets is None else limits.sets, n * (m + _EXTRA_VALUES_PER_RECORD) + _EXTRA_LABELS
        ),
        values=min(
            limits.values, n * (2 * m + _EXTRA_VALUES_PER_RECORD) + _EXTRA_VALUES + by_pair * _EXTRA_VALUES_PER_PAIR
        ),
        expanded_bytes=min(limits.expanded_bytes, n * record + texts + BASE_FILE_BYTES),
        decoding_seconds=_BASE_DECODING_SECONDS
        + _DECODING_SECONDS_PER_CELL * cells
        + _DECODING_SECONDS_PER_TEXT_BYTE * letters,
        members=min(limits.members, _MAX_MEMBERS, n // _INSTANCES_PER_MEMBER + _EXTRA_MEMBERS),
    )


def max_upload_bytes(phase: PhaseSize, limits: Limits, *, pairs: bool = False) -> int:
    """Bytes that a file for such a phase may have as it is sent: what cannot be compressed grows a little by it."""
    most = limits_for_phase(phase, limits, pairs=pairs).expanded_bytes
    return most + most // 64 + BASE_FILE_BYTES // 8


def _total_bytes(texts: Sequence[str] | StringTable) -> int:
    """Bytes of all of these texts."""
    if isinstance(texts, StringTable):
        return int(np.count_nonzero(texts.words.view(np.uint8)))
    return sum(len(text.encode(errors="surrogatepass")) for text in texts)


def _longest_text_bytes(texts: Sequence[str] | StringTable) -> int:
    """Bytes of the longest of these texts, in whole words."""
    if isinstance(texts, StringTable):
        return 8 * texts.width
    return 8 * max(1, -(-max((len(text.encode(errors="surrogatepass")) for text in texts), default=0) // 8))
