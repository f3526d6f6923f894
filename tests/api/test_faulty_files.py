"""The service answers the table of formats and faults as the reader does (tests/formats)."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from app.errors import AssayError
from tests.api.in_process_app import ServedApp, app_settings, serve_app
from tests.each_case import for_each
from tests.formats.fault_table import GROUPS, cells
from tests.formats.fault_table.encodings import NAMES, compress_with_checksum
from tests.formats.fault_table.model import CHALLENGES, CLASSES, IDS, SETTING_OF, SMALL_LIMITS, Cell, read_offline
from tests.formats.fault_table.write import MEDIA_TYPES, WIDE, write_file
from tests.live_service import Caller, open_challenge

CELLS = cells()
MAX_UPLOAD, MAX_CLASSES = 8192, 6
Services = Callable[[Cell], tuple[Caller, str]]


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """The organizer and challenge for a cell; the app for the default or for small limits starts when needed."""
    running: dict[bool, ServedApp] = {}
    organizers: dict[tuple[bool, str], Caller] = {}
    with ExitStack() as apps:

        def service(cell: Cell) -> tuple[Caller, str]:
            if cell.small not in running:
                limits: dict[str, Any] = {SETTING_OF[name]: value for name, value in SMALL_LIMITS.items()}
                limits |= {"max_upload": MAX_UPLOAD, "max_classes": MAX_CLASSES}
                folder = tmp_path_factory.mktemp("cells") / "data"
                # Nothing here waits for background work.
                settings = app_settings(folder, background_pace=1.0, **limits if cell.small else {})
                running[cell.small] = apps.enter_context(serve_app(settings))
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


def dry_run(services: Services, cell: Cell) -> httpx.Response:
    """Send a cell as it says."""
    caller, slug = services(cell)
    headers = {"Content-Type": cell.media, "Content-Encoding": cell.encoding}
    parameters = {"dry_run": "true", "team": "T", "layout": cell.layout, "filename": cell.filename}
    return caller.post(
        f"/challenges/{slug}/phases/main/submissions",
        params={name: value for name, value in parameters.items() if value},
        headers={name: value for name, value in headers.items() if value},
        content=cell.body,
    )


def assert_answered_as_offline(services: Services, name: str) -> None:
    """The service gives a cell the answer of the reader, byte for byte."""
    cell = CELLS[name]
    answer = dry_run(services, cell)
    if cell.refused:
        with pytest.raises(AssayError) as refusal:
            read_offline(cell)
        told = answer.json()
        found = (refusal.value.status, refusal.value.code, refusal.value.detail)
        assert (answer.status_code, told["code"], told["detail"]) == found
        return
    assert answer.status_code == 200, answer.text[:500]
    problems, notes = read_offline(cell)
    offline, online = problems.to_dict() | {"notes": notes}, answer.json()
    for part in ("valid", "total", "problems", "notes"):
        assert json.dumps(online[part]) == json.dumps(offline[part])


def covering_cells() -> list[str]:
    """Cells in which each fault and each column of each group occurs."""
    chosen: list[str] = []
    seen: set[tuple[str, str, str]] = set()
    for group in GROUPS:
        columns, size = list(group.columns), max(len(group.columns), len(group.faults))
        places = [
            ((row - columns.index(column)) % size if column in columns else 0, fault.name, column)
            for row, fault in enumerate(group.faults)
            for column, cell in fault.cells.items()
            if isinstance(cell, Cell)
        ]
        for _, fault_name, column in sorted(places):
            new = {(group.name, "fault", fault_name), (group.name, "column", column)} - seen
            if new:
                seen |= new
                chosen.append(f"{group.name}: {fault_name}: {column}")
    return chosen


@for_each("name", covering_cells())
def test_each_fault_and_each_format_is_answered_as_offline(services: Services, name: str) -> None:
    assert_answered_as_offline(services, name)


@pytest.mark.ci  # the readers are the same; the sample above shows that they are asked in the same way
@for_each("name", CELLS)
def test_every_cell_is_answered_as_offline(services: Services, name: str) -> None:
    assert_answered_as_offline(services, name)


@for_each("column", WIDE)
def test_a_body_larger_than_allowed_is_refused_before_it_is_read(services: Services, column: str) -> None:
    answer = dry_run(services, Cell(bytes(MAX_UPLOAD + 1), media=MEDIA_TYPES[column], small=True))
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


@for_each("column", WIDE)
def test_gold_of_too_many_rows_is_refused_in_every_format(services: Services, column: str) -> None:
    caller, _ = services(Cell(b"", small=True))
    body = write_file(column, [(f"g{number}", f"c{number}") for number in range(MAX_CLASSES + 1)])
    headers = {"Content-Type": MEDIA_TYPES[column]}
    answer = caller.post("/challenges/label/phases/main/gold", content=body, headers=headers)
    assert answer.status_code == 422, answer.text
    assert answer.json()["total"] == {"too_many_rows": 1}  # the service takes five records


@for_each("at, column", enumerate(MEDIA_TYPES))
def test_every_sound_file_is_valid_plain_and_packed(services: Services, at: int, column: str) -> None:
    body, media = write_file(column, list(zip(IDS, CLASSES, strict=True))), MEDIA_TYPES[column]
    how: dict[str, Any] = {"layout": "long", "challenge": "sets"} if column == "long" else {}
    encoding = list(NAMES)[at % len(NAMES)]
    for cell in (
        Cell(body, media=media, **how),
        Cell(compress_with_checksum(encoding, body), media=media, encoding=encoding, **how),
    ):
        answer = dry_run(services, cell)
        assert answer.status_code == 200, answer.text
        assert answer.json()["valid"], answer.text
