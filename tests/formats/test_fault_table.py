"""Every cell of the table of formats and faults: at its exact place, and the same from the service as offline."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.formats import Limits, detect_file_kind
from app.formats.problems import PROBLEM_CODES, Problems
from app.formats.registry import FORMATS
from app.pipeline import SourceFile
from tests.cli.run_command import run_assay
from tests.formats.fault_table import GROUPS, cells
from tests.formats.fault_table.encodings import NAMES, compress_with_checksum
from tests.formats.fault_table.model import (
    CHALLENGES,
    CLASSES,
    IDS,
    SETTING_OF,
    SMALL_LIMITS,
    Cell,
    compared_fields,
    read_offline,
)
from tests.formats.fault_table.write import MEDIA_TYPES, WIDE, write_file
from tests.formats.reading import load_gold_both_ways
from tests.live_service import Caller, Live, open_challenge

CELLS = cells()
MAX_UPLOAD, MAX_CLASSES = 8192, 6
Services = Callable[[Cell], tuple[Caller, str]]


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """The organizer and challenge for a cell; a service with default or with small limits starts when needed."""
    running: dict[bool, Live] = {}
    organizers: dict[tuple[bool, str], Caller] = {}

    def service(cell: Cell) -> tuple[Caller, str]:
        if cell.small not in running:
            limits = {SETTING_OF[name]: str(value) for name, value in SMALL_LIMITS.items()}
            limits |= {"max_upload": str(MAX_UPLOAD), "max_classes": str(MAX_CLASSES)}
            folder = tmp_path_factory.mktemp("cells") / "data"
            running[cell.small] = Live(folder, **limits if cell.small else {}).start()
        key = (cell.small, cell.challenge)
        if key not in organizers:
            challenge = CHALLENGES[cell.challenge]
            organizers[key] = running[cell.small].admin()
            fields: dict[str, Any] = {
                "task": challenge.task,
                "recipe": challenge.recipe,
                "classes": list(challenge.classes),
            }
            fields |= {"positive_label": challenge.positive} if challenge.positive else {}
            open_challenge(organizers[key], cell.challenge, list(challenge.gold), **fields)
        return organizers[key], cell.challenge

    yield service
    for live in running.values():
        live.stop()


def dry_run(services: Services, cell: Cell, **query: str) -> httpx.Response:
    """Send a cell as it says."""
    caller, slug = services(cell)
    headers = {"Content-Type": cell.media, "Content-Encoding": cell.encoding}
    parameters = {"dry_run": "true", "team": "T", "layout": cell.layout, "filename": cell.filename} | query
    return caller.post(
        f"/challenges/{slug}/phases/main/submissions",
        params={name: value for name, value in parameters.items() if value},
        headers={name: value for name, value in headers.items() if value},
        content=cell.body,
    )


def report(problems: Problems, notes: list[str]) -> dict[str, Any]:
    """What `assay validate` prints."""
    return problems.to_dict() | {"notes": notes}


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_gets_the_answer_it_says_from_the_service_and_offline(services: Services, name: str) -> None:
    cell = CELLS[name]
    answer = dry_run(services, cell)
    if cell.refused:
        assert (answer.status_code, answer.json()["code"]) == cell.refused
        with pytest.raises(Exception) as refusal:
            read_offline(cell)
        assert (refusal.value.status, refusal.value.code, refusal.value.detail) == (  # type: ignore[attr-defined]
            *cell.refused,
            answer.json()["detail"],
        )
        return
    assert answer.status_code == 200, answer.text[:500]
    problems, notes = read_offline(cell)
    offline = report(problems, notes)
    assert compared_fields(offline["problems"], cell.problems) == list(cell.problems)
    assert sum(offline["total"].values()) == len(cell.problems)
    online = answer.json()
    for part in ("valid", "total", "problems", "notes"):
        assert json.dumps(online[part]) == json.dumps(offline[part])


@pytest.mark.parametrize("name", CELLS)
def test_every_problem_of_a_cell_says_what_is_wrong_and_how_to_mend_it(name: str) -> None:
    if CELLS[name].refused:
        return
    for found in read_offline(CELLS[name])[0].first:
        sentences = [part for part in found.message.replace("? ", ". ").split(". ") if part]
        assert len(sentences) >= 2 or ", so " in found.message, found.message
        assert len(found.message) < 400


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


@pytest.mark.parametrize("name", SAMPLE)
def test_the_command_itself_prints_what_the_service_answers(services: Services, tmp_path: Path, name: str) -> None:
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
    online = dry_run(services, cell).json()
    assert ran.status == (0 if online["valid"] else 1)
    assert json.dumps(ran.value()) == json.dumps({part: online[part] for part in ran.value()})
    assert {"valid", "total", "problems", "notes"} <= ran.value().keys()


@pytest.mark.parametrize("column", WIDE)
def test_a_body_larger_than_allowed_is_refused_before_it_is_read(services: Services, column: str) -> None:
    answer = dry_run(services, Cell(bytes(MAX_UPLOAD + 1), media=MEDIA_TYPES[column], small=True))
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


@pytest.mark.parametrize("column", WIDE)
def test_gold_of_too_many_classes_is_refused_in_every_format(services: Services, tmp_path: Path, column: str) -> None:
    caller, _ = services(Cell(b"", small=True))
    rows = [(f"g{number}", f"c{number}") for number in range(MAX_CLASSES + 1)]
    kind = detect_file_kind(None, MEDIA_TYPES[column], None)
    path = tmp_path / f"gold{kind.ending}"
    path.write_bytes(write_file(column, rows))
    limits = replace(Limits(classes=MAX_CLASSES), **SMALL_LIMITS | {"records": 100})
    gold, problems = load_gold_both_ways(SourceFile(path, kind), task="multiclass", limits=limits)
    assert gold is None
    assert problems.total == {"too_large": 1}
    answer = caller.post(
        "/challenges/label/phases/main/gold", content=path.read_bytes(), headers={"Content-Type": MEDIA_TYPES[column]}
    )
    assert answer.status_code == 422, answer.text
    assert answer.json()["total"] == {"too_many_rows": 1}  # the service takes five records


@pytest.mark.parametrize("encoding", NAMES)
@pytest.mark.parametrize("column", MEDIA_TYPES)
def test_every_sound_file_is_valid_plain_and_packed(services: Services, encoding: str, column: str) -> None:
    rows = list(zip(IDS, CLASSES, strict=True))
    long = column == "long"
    body = write_file(column, rows)
    how: dict[str, Any] = {"layout": "long", "challenge": "sets"} if long else {}
    for cell in (
        Cell(body, media=MEDIA_TYPES[column], **how),
        Cell(compress_with_checksum(encoding, body), media=MEDIA_TYPES[column], encoding=encoding, **how),
    ):
        answer = dry_run(services, cell)
        assert answer.status_code == 200, answer.text
        assert answer.json()["valid"], answer.text


def test_the_table_has_no_hole_and_shows_every_format_and_code() -> None:
    for group in GROUPS:
        for fault in group.faults:
            assert set(fault.cells) >= set(group.columns) or len(group.columns) == 1, (group.name, fault.name)
            assert all(isinstance(found, Cell) or found for found in fault.cells.values())
    media = {cell.media for cell in CELLS.values()}
    assert media >= {known.media_types[0] for known in FORMATS.values()}
    assert {one["code"] for cell in CELLS.values() for one in cell.problems} == set(PROBLEM_CODES)
