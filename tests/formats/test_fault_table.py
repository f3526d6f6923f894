"""Every cell of the table of formats and faults: at its exact place, with a message that says how to mend it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.errors import AssayError
from app.formats import Limits, detect_file_kind
from app.formats.problems import PROBLEM_CODES
from app.formats.registry import FORMATS
from app.pipeline import SourceFile
from tests.each_case import for_each
from tests.formats.fault_table import GROUPS, cells
from tests.formats.fault_table.encodings import NAMES, compress_with_checksum
from tests.formats.fault_table.model import (
    CLASSES,
    IDS,
    SMALL_LIMITS,
    Cell,
    compared_fields,
    read_offline,
)
from tests.formats.fault_table.write import MEDIA_TYPES, WIDE, write_file
from tests.formats.reading import load_gold_both_ways

CELLS = cells()
MAX_CLASSES = 6


@for_each("name", CELLS)
def test_a_cell_gets_the_answer_it_says_and_every_problem_says_how_to_mend_it(name: str) -> None:
    cell = CELLS[name]
    if cell.refused:
        with pytest.raises(AssayError) as refusal:
            read_offline(cell)
        assert (refusal.value.status, refusal.value.code) == cell.refused
        return
    problems, _ = read_offline(cell)
    assert compared_fields(problems.to_dict()["problems"], cell.problems) == list(cell.problems)
    assert sum(problems.total.values()) == len(cell.problems)
    for found in problems.first:
        sentences = [part for part in found.message.replace("? ", ". ").split(". ") if part]
        assert len(sentences) >= 2 or ", so " in found.message, found.message
        assert len(found.message) < 400


@for_each("column", WIDE)
def test_gold_of_too_many_classes_is_refused_in_every_format(tmp_path: Path, column: str) -> None:
    rows = [(f"g{number}", f"c{number}") for number in range(MAX_CLASSES + 1)]
    kind = detect_file_kind(None, MEDIA_TYPES[column], None)
    path = tmp_path / f"gold{kind.ending}"
    path.write_bytes(write_file(column, rows))
    limits = replace(Limits(classes=MAX_CLASSES), **SMALL_LIMITS | {"records": 100})
    gold, problems = load_gold_both_ways(SourceFile(path, kind), task="multiclass", limits=limits)
    assert gold is None
    assert problems.total == {"too_large": 1}


@for_each("column", MEDIA_TYPES)
def test_every_sound_file_is_valid_plain_and_packed(column: str) -> None:
    body, media = write_file(column, list(zip(IDS, CLASSES, strict=True))), MEDIA_TYPES[column]
    how: dict[str, Any] = {"layout": "long", "challenge": "sets"} if column == "long" else {}
    packed = [Cell(compress_with_checksum(encoding, body), media=media, encoding=encoding, **how) for encoding in NAMES]
    for cell in (Cell(body, media=media, **how), *packed):
        assert not read_offline(cell)[0].first


def test_the_table_has_no_hole_and_shows_every_format_and_code() -> None:
    for group in GROUPS:
        for fault in group.faults:
            assert set(fault.cells) >= set(group.columns) or len(group.columns) == 1, (group.name, fault.name)
            assert all(isinstance(found, Cell) or found for found in fault.cells.values())
    media = {cell.media for cell in CELLS.values()}
    assert media >= {known.media_types[0] for known in FORMATS.values()}
    assert {one["code"] for cell in CELLS.values() for one in cell.problems} == set(PROBLEM_CODES)
