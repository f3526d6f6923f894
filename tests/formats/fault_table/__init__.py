"""The fault table: faulty files of each format and the expected answers. Tests check it, and docs/formats.md shows it."""

from tests.formats.fault_table import encodings, ids, labels, limits, scores, tables, text
from tests.formats.fault_table.model import Cell, Group

GROUPS: tuple[Group, ...] = (
    text.GROUP, text.MISTAKEN, ids.IDENTITY, labels.ANSWERS, scores.GROUP, tables.TEXT, tables.NPZ,
    tables.COLUMNAR, limits.GROUP, encodings.ENCODED, encodings.SAID,
)  # fmt: skip
"""The tables of the page, in its order."""


def cells() -> dict[str, Cell]:
    """All cells by name: group, fault and column."""
    return {
        f"{group.name}: {fault.name}: {column}": found
        for group in GROUPS
        for fault in group.faults
        for column, found in fault.cells.items()
        if isinstance(found, Cell)
    }
