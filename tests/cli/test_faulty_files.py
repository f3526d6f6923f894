"""`assay validate` answers the table of formats and faults as the reader does (tests/formats)."""

import json
from pathlib import Path

from app.formats import detect_file_kind
from tests.cli.run_command import run_assay
from tests.each_case import for_each
from tests.formats.fault_table import cells
from tests.formats.fault_table.model import CHALLENGES, CLASSES, IDS, read_offline

CELLS = cells()
SAMPLE = [
    "Bytes and text: 5,000-digit integer: records",
    "Bytes and text: Latin-1: csv",
    "The wrong name or media type: a CSV file: lines",
    "Keys and ids: misspelt id: npz",
    "Keys and ids: duplicate key: map",
    "Labels: duplicate label: long",
    "Labels: label instead of a set: columns",
    "Labels: null as label: parquet",
    "Scores: unknown class: tsv",
    "Scores: negative score: arrow",
    "Scores: no scores at all: lines",
    "Tables: unclosed quote: csv",
    "Encodings: wrong checksum: zstd",
    "Encodings: several members: gzip",
]


@for_each("name", SAMPLE)
def test_the_command_prints_what_the_reader_answers(tmp_path: Path, name: str) -> None:
    cell, challenge = CELLS[name], CHALLENGES[CELLS[name].challenge]
    ending = detect_file_kind(None, cell.media, cell.encoding).ending
    files = {
        f"mine{ending}": cell.body,
        "ids.json": json.dumps(IDS).encode(),
        "classes.json": json.dumps(CLASSES).encode(),
        "recipe.json": json.dumps(challenge.recipe).encode(),
    }
    mine, ids, classes, recipe = (tmp_path / file for file in files)
    for file, body in files.items():
        (tmp_path / file).write_bytes(body)
    layout = ("--layout", cell.layout) if cell.layout else ()
    known = ("--ids", ids, "--classes", classes, "--recipe", recipe, "--task", challenge.task)
    ran = run_assay("validate", "-f", mine, *known, *layout, "--json")
    problems, notes = read_offline(cell)
    expected = problems.to_dict() | {"notes": notes}
    assert ran.status == (0 if expected["valid"] else 1)
    assert json.dumps(ran.value()) == json.dumps({part: expected[part] for part in ran.value()})
    assert {"valid", "total", "problems", "notes"} <= ran.value().keys()
