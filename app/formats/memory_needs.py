"""How much memory reading a file takes, for the largest file that a scoring process can read.

The figures are measured at the peak, for ids of 17 bytes and labels of 8 in JSON Lines; longer ones need more.
`tests/formats/test_memory_needs.py` measures them again.
"""

from dataclasses import dataclass

PLAIN_BYTES_PER_RECORD = 130
"""Of gold in plain, uniform layout, which the vectorized readers read; predictions in this layout need less."""
STRICT_BYTES_PER_RECORD = 930
"""Of any other file with one label per record."""
STRICT_BYTES_PER_SCORE = 165
"""Of such a file for each score, its share of the record included."""
PROCESS_BYTES = 96 << 20
"""Of a scoring process itself, with its libraries."""


@dataclass(frozen=True, slots=True)
class LargestFile:
    """The largest file that fits in a memory limit, whatever the other limits are."""

    plain_records: int
    strict_records: int
    strict_scores: int


def largest_file(memory: int) -> LargestFile:
    """The largest file that a scoring process with `memory` bytes can read, in records or scores."""
    left = max(0, memory - PROCESS_BYTES)
    return LargestFile(left // PLAIN_BYTES_PER_RECORD, left // STRICT_BYTES_PER_RECORD, left // STRICT_BYTES_PER_SCORE)


def describe_largest_file(records: int, memory: int) -> str:
    """The largest file by the limit of records and by that of the bytes of memory, for operators."""
    fits = largest_file(memory)
    return (
        f"A file may have {records:,} records (ASSAY_MAX_RECORDS). {memory >> 20:,} MiB (ASSAY_SCORING_MEMORY) suffice for "
        f"about {fits.plain_records:,} records of plain, uniform layout, and in any other layout for "
        f"{fits.strict_records:,} with a label or {fits.strict_scores:,} scores."
    )
