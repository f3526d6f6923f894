"""Size limits for the files of a phase: what the phase can use, with a generous allowance."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.formats.reading_rules import Limits
from app.scoring.string_table import StringTable

Texts = Sequence[str] | StringTable

_EXTRA_ROWS = 1000
"""Rows in addition to the instances, on top of a quarter of them."""
BASE_FILE_BYTES = 8 << 20
"""Bytes that every file may have, whatever the phase."""
_EXTRA_VALUES = 1 << 20
"""Values in addition to those of the instances."""
_EXTRA_LABELS = 1 << 18
"""Labels in sets in addition to those of the instances."""
_EXTRA_MEMBERS = 2000
"""Compressed members in addition to one per _INSTANCES_PER_MEMBER instances; each costs a tenth of a millisecond."""
_INSTANCES_PER_MEMBER = 16
_MAX_MEMBERS = 10_000
_EXTRA_BYTES_PER_RECORD, _EXTRA_VALUES_PER_RECORD = 1024, 32
"""Allowance of a record for ignored fields, names, punctuation and white space, and for labels that are not classes."""
_BYTES_PER_LONG_TEXT, _MAX_LONG_TEXTS = 5120, 16_384
"""Further allowance for up to so many instances: a text of a few pages that is sent along with each."""
_EXTRA_BYTES_PER_PAIR, _EXTRA_VALUES_PER_PAIR = 128, 16
"""Allowance of each row of a table of pairs, besides its id: the label, an index, a score, and ignored columns."""
_BYTES_PER_ESCAPED_CHARACTER = 6
"""Bytes of a character as a JSON escape, such as \\u00e9."""
_BYTES_PER_SCORE = 64
"""Bytes of a number with the punctuation and white space around it."""
_BASE_DECODING_SECONDS, _DECODING_SECONDS_PER_CELL, _DECODING_SECONDS_PER_TEXT_BYTE = 0.75, 40e-9, 0.5e-9
"""CPU seconds for decoding a file of columns: a base, and more for each cell and for each byte of text."""


@dataclass(frozen=True, slots=True)
class PhaseSize:
    """What a phase needs of a file: one row per instance, including those that are not scored.

    Sizes are in bytes of UTF-8; `class_names_bytes` is the size of all class names together.
    """

    instances: int
    longest_id_bytes: int
    classes: int
    class_names_bytes: int

    @classmethod
    def of(cls, ids: Texts, classes: Texts, *, void: Collection[str] = ()) -> "PhaseSize":
        """The size of a phase with these ids and classes, and with `void` ids that are not scored."""
        longest = max(_longest_text_bytes(ids), _longest_text_bytes(tuple(void)))
        return cls(len(ids) + len(void), longest, len(classes), _total_bytes(classes))


def limits_for_phase(phase: PhaseSize, limits: Limits, *, pairs: bool = False) -> Limits:
    """The limits for a file of this phase, never above those of the site.

    `pairs`: the file is a table with one row per pair of instance and label.
    """
    n, m = phase.instances, phase.classes
    rows = n + n // 4 + _EXTRA_ROWS
    by_pair = n * m + rows if pairs else 0
    # An answer may have each label and a score of each; doubled as a margin.
    id_bytes, names_bytes = phase.longest_id_bytes, phase.class_names_bytes
    answer = 2 * (_BYTES_PER_ESCAPED_CHARACTER * names_bytes + _BYTES_PER_SCORE * m)
    record = _EXTRA_BYTES_PER_RECORD + 2 * _BYTES_PER_ESCAPED_CHARACTER * id_bytes + answer
    texts = min(n, _MAX_LONG_TEXTS) * _BYTES_PER_LONG_TEXT + by_pair * (_EXTRA_BYTES_PER_PAIR + id_bytes)
    values = n * (2 * m + _EXTRA_VALUES_PER_RECORD) + _EXTRA_VALUES + by_pair * _EXTRA_VALUES_PER_PAIR
    sets = n * (m + _EXTRA_VALUES_PER_RECORD) + _EXTRA_LABELS
    seconds = _BASE_DECODING_SECONDS + _DECODING_SECONDS_PER_CELL * (rows * (m + 2) + 2 * by_pair)
    seconds += _DECODING_SECONDS_PER_TEXT_BYTE * (rows * names_bytes + (rows + by_pair) * id_bytes)
    return replace(
        limits,
        instances=n,
        records=min(limits.records, rows),
        pairs=min(limits.records, by_pair) if pairs else None,
        labels=m + m // 4 + _EXTRA_ROWS if pairs else None,
        sets=min(limits.values if limits.sets is None else limits.sets, sets),
        values=min(limits.values, values),
        expanded_bytes=min(limits.expanded_bytes, n * record + texts + BASE_FILE_BYTES),
        decoding_seconds=seconds,
        members=min(limits.members, _MAX_MEMBERS, n // _INSTANCES_PER_MEMBER + _EXTRA_MEMBERS),
    )


def max_upload_bytes(phase: PhaseSize, limits: Limits, *, pairs: bool = False) -> int:
    """Bytes of an uploaded file of this phase: compression can make incompressible data slightly larger."""
    most = limits_for_phase(phase, limits, pairs=pairs).expanded_bytes
    return most + most // 64 + BASE_FILE_BYTES // 8


def _total_bytes(texts: Texts) -> int:
    """The total size of these texts, in bytes."""
    if isinstance(texts, StringTable):
        return int(np.count_nonzero(texts.words.view(np.uint8)))
    return sum(len(text.encode(errors="surrogatepass")) for text in texts)


def _longest_text_bytes(texts: Texts) -> int:
    """The size of the longest of these texts, in bytes, rounded up to whole words."""
    if isinstance(texts, StringTable):
        return 8 * texts.width
    return 8 * max(1, -(-max((len(text.encode(errors="surrogatepass")) for text in texts), default=0) // 8))
