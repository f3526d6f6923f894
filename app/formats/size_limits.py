"""How much of a file is read: what a phase can use of it, with a generous allowance."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.formats.reading_rules import Limits
from app.scoring.string_table import TextTable

_ROWS = 1000
"""Rows beside those of the instances; a quarter of these come on top of it."""
LEAST = 8 << 20
"""Bytes beside those of the instances: of any file this much is read."""
_VALUES = 1 << 20
"""Values beside those of the instances."""
_LABELS = 1 << 18
"""Labels in sets beside those of the instances."""
_MEMBERS = 2000
"""Members of compressed data beside one for each of so many instances as follow; each costs a tenth of a millisecond."""
_INSTANCES_OF_MEMBER = 16
_MOST_MEMBERS = 10_000
_RECORD_BYTES, _RECORD_VALUES = 1024, 32
"""What a record may have of fields that are ignored, of names, signs and white space; and of labels that are no classes."""
_TEXT_BYTES, _TEXTS = 5120, 16_384
"""Beside that: a text of some pages that is sent along with each of so many instances."""
_PAIR_BYTES, _PAIR_VALUES = 128, 16
"""What each row of a table of pairs may have beside its id: the label, an index, a score, and what is ignored."""
_SIGN = 6
"""Bytes of a character as an escape of JSON, such as \\u00e9."""
_SCORE = 64
"""Bytes of a number with the signs and the white space around it."""
_DECODING, _CELL, _TEXT = 0.75, 40e-9, 0.5e-9
"""Seconds in which a library may decode a file of columns: for any, and more for each cell and each byte of its texts."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What a phase needs of a file: a row for each of its instances, those that are not scored included.

    `longest` is the size of the longest id, `names` that of the names of all classes, in bytes of UTF-8.
    """

    instances: int
    longest: int
    classes: int
    names: int

    @classmethod
    def of(
        cls, ids: Sequence[str] | TextTable, classes: Sequence[str] | TextTable, *, void: Collection[str] = ()
    ) -> "Needs":
        """The needs of these ids, of others that are not scored, and these classes."""
        return cls(len(ids) + len(void), max(_longest(ids), _longest(tuple(void))), len(classes), _together(classes))


def limits_for(needs: Needs, limits: Limits, *, pairs: bool = False) -> Limits:
    """The limits of a file for such a phase: never beyond those of the site.

    `pairs`: it is a table with a row for each pair of instance and label.
    """
    n, m = needs.instances, needs.classes
    rows = n + n // 4 + _ROWS
    by_pair = n * m + rows if pairs else 0
    answer = 2 * (_SIGN * needs.names + _SCORE * m)  # labels, and a score of each
    record = _RECORD_BYTES + 2 * _SIGN * needs.longest + answer
    cells, letters = rows * (m + 2) + 2 * by_pair, rows * needs.names + (rows + by_pair) * needs.longest
    texts = min(n, _TEXTS) * _TEXT_BYTES + by_pair * (_PAIR_BYTES + needs.longest)
    return replace(
        limits,
        instances=n,
        records=min(limits.records, rows),
        pairs=min(limits.records, by_pair) if pairs else None,
        labels=m + m // 4 + _ROWS if pairs else None,
        sets=min(limits.values if limits.sets is None else limits.sets, n * (m + _RECORD_VALUES) + _LABELS),
        values=min(limits.values, n * (2 * m + _RECORD_VALUES) + _VALUES + by_pair * _PAIR_VALUES),
        expanded_bytes=min(limits.expanded_bytes, n * record + texts + LEAST),
        decoding_seconds=_DECODING + _CELL * cells + _TEXT * letters,
        members=min(limits.members, _MOST_MEMBERS, n // _INSTANCES_OF_MEMBER + _MEMBERS),
    )


def most_as_sent(needs: Needs, limits: Limits, *, pairs: bool = False) -> int:
    """Bytes that a file for such a phase may have as it is sent: what cannot be compressed grows a little by it."""
    most = limits_for(needs, limits, pairs=pairs).expanded_bytes
    return most + most // 64 + LEAST // 8


def _together(texts: Sequence[str] | TextTable) -> int:
    """Bytes of all of these texts."""
    if isinstance(texts, TextTable):
        return int(np.count_nonzero(texts.words.view(np.uint8)))
    return sum(len(text.encode(errors="surrogatepass")) for text in texts)


def _longest(texts: Sequence[str] | TextTable) -> int:
    """Bytes of the longest of these texts, in whole words."""
    if isinstance(texts, TextTable):
        return 8 * texts.width
    return 8 * max(1, -(-max((len(text.encode(errors="surrogatepass")) for text in texts), default=0) // 8))
