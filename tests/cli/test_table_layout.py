"""Tables: numbers, keys and ids are never broken, even on a narrow terminal."""

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.progress import Progress

from app.cli.terminal import object_tables
from app.cli.terminal.output import UploadBar
from app.cli.terminal.problem_tables import show_problems
from app.cli.terminal.table_layout import Column, format_numbers, score_column, show_table
from tests.cli.run_command import run_assay
from tests.cli.scripted_server import ScriptedAnswer, ScriptedServer

ID = "019a3c5e7b1f7d04a2c98e6f50b1d327"
METRICS = ["f1_macro", "f1_of_averages_macro", "accuracy", "matthews_correlation"]
FOUND: list[dict[str, Any]] = [
    {
        "id": ID,
        "status": "finished",
        "method": "support vectors on bigrams, with a long name",
        "team": {"id": "t1", "name": name},
        "timings": {"submitted_at": "2026-01-01T00:00:00.123456Z"},
        "scores": {key: {"value": 0.123456} for key in METRICS},
    }
    for name in ("Alpha", "Beta")
]
FOUND[0]["selected"] = True
BOARD = {
    "challenge": "irony",
    "phase": "main",
    "split": "all",
    "primary": "accuracy",
    "rows": [{"rank": 1, "team": one["team"], "method": "m", "entries": 2, "scores": one["scores"]} for one in FOUND],
}


def recorded(width: int) -> Console:
    return Console(file=io.StringIO(), width=width, record=True, markup=False, highlight=False)


@pytest.mark.parametrize("width", [80, 100, 200])
def test_submissions_keep_ids_and_numbers_whole(width: int) -> None:
    console = recorded(width)
    object_tables.show_submissions(console, FOUND)
    text = console.export_text()
    assert text.count(ID) == 2
    assert text.count(" 0.123456") >= 2
    assert "f1_macro" in text
    assert max(map(len, text.splitlines())) <= width
    assert ("more columns: --json" in text) == (width < 200)


def test_a_board_shows_what_ranks_first_and_counts_what_it_leaves_out(
    service: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.on("GET /api/v1/challenges/irony/phases/main/leaderboard", ScriptedAnswer(200, BOARD))
    words = ("leaderboard", "irony", "--phase", "main", "--url", service.url)
    assert all(metric in run_assay(*words).out for metric in METRICS)
    monkeypatch.setenv("COLUMNS", "50")
    text = run_assay(*words).out
    header = text.splitlines()[1].split()
    assert header[:4] == ["rank", "team", "method", "accuracy"]
    assert "0.123456" in text
    left_out = len({*METRICS, "entries"} - set(header))
    assert f"… {left_out} more columns: --json or --csv" in text
    assert max(map(len, text.splitlines())) <= 50


def test_where_nothing_fits_each_cell_has_a_line() -> None:
    console = recorded(30)
    object_tables.show_submissions(console, FOUND)
    assert f"id: {ID}" in console.export_text()


def test_only_free_text_is_broken() -> None:
    console = recorded(30)
    show_table(console, [Column("key", ["k" * 12]), Column("name", ["several words of a name"], wrap=True)])
    lines = console.export_text().splitlines()
    assert lines[2].rstrip() == "k" * 12 + "  several words of"
    assert lines[3].strip() == "a name"


@given(st.lists(st.none() | st.floats(-1e6, 1e6, allow_nan=False), min_size=1))
def test_numbers_of_a_column_are_in_step_and_right_to_six_digits(values: list[float | None]) -> None:
    shown = format_numbers(values)
    decimals = {len(text.partition(".")[2]) for text in shown if text != "–" and "e" not in text}
    assert len(decimals) <= 1
    for value, text in zip(values, shown, strict=True):
        assert (text == "–") == (value is None)
        if value is not None:
            assert float(text) == pytest.approx(value, rel=5e-6, abs=1e-12)


def test_numbers_are_padded_to_the_longest_but_never_with_a_seventh_digit() -> None:
    assert format_numbers([0.5, 0.25]) == ["0.50", "0.25"]
    assert format_numbers([0.5, 0.0413793103, 1.0]) == ["0.500000 ", "0.0413793", "1.00000  "]
    assert format_numbers([0.842035, 0.0425685]) == ["0.842035 ", "0.0425685"]  # 0.8420348 on a board of six digits
    assert format_numbers([3, 10]) == ["3", "10"]


def test_a_score_without_a_value_is_an_empty_cell_or_a_dash() -> None:
    assert score_column("m", ["", None, 0.5]).formatted_cells() == ["", "–", "0.5"]


PROBLEMS = {
    "total": {"unknown_id": 2},
    "problems": [
        {"file": "gold", "code": "unknown_id", "line": 3, "column": 1, "message": "Take one of the ids."},
        {"file": "predictions", "code": "unknown_id", "pointer": "/t9", "message": "Take one of the ids."},
    ],
}


def test_people_are_shown_the_first_problems_and_told_of_the_rest() -> None:
    console = recorded(80)
    one = {"code": "missing_instances", "message": "Add one."}
    other = {"code": "unknown_id", "message": "Take one of the ids."}
    report = {"total": {"missing_instances": 900, "unknown_id": 1}, "problems": [*[one] * 99, other]}
    show_problems(console, report)
    lines = console.export_text().splitlines()
    assert (lines.count("Add one."), lines.count("Take one of the ids.")) == (5, 1)
    assert lines[-1] == "6 of 901 are shown; --json has 100."


def test_up_to_twenty_problems_are_shown_even_if_all_are_of_one_kind() -> None:
    console = recorded(80)
    show_problems(console, {"total": {"missing_instances": 7}, "problems": [{"message": "Add one."}] * 7})
    assert console.export_text().splitlines().count("Add one.") == 7


def test_problems_are_sentences_where_there_is_little_room_and_name_their_file() -> None:
    narrow, roomy = recorded(80), recorded(150)
    show_problems(narrow, PROBLEMS)
    show_problems(roomy, PROBLEMS)
    assert narrow.export_text().splitlines() == [
        "2 problems: unknown_id 2",
        "gold, line 3, column 1: Take one of the ids.",
        "predictions, /t9: Take one of the ids.",
    ]
    rows = [line.split() for line in roomy.export_text().splitlines()]
    assert rows[1][0] == "file"
    assert [row[0] for row in rows[3:5]] == ["gold", "predictions"]


def test_a_queued_submission_shows_its_place_and_when_its_scores_are_expected() -> None:
    queued = FOUND[0] | {"status": "queued", "queue_position": 7, "eta": "2027-01-31T12:00:02Z", "scores": {}}
    console = recorded(200)
    object_tables.show_submission(console, queued)
    object_tables.show_submission(console, queued | {"eta": None})
    object_tables.show_submission(console, FOUND[0])
    lines = console.export_text().splitlines()
    expected = "queued, position 7 in the queue"
    assert [line for line in lines if "queue" in line and "Submission" not in line] == [
        f"{expected}, scores expected at 2027-01-31 12:00:02 UTC",
        expected,
    ]
    object_tables.show_submissions(console, [queued, FOUND[0]])
    text = console.export_text()
    assert "queue_position" in text
    assert "2027-01-31 12:00:02" in text


def test_the_label_of_an_upload_says_what_is_sent_and_then_what_is_awaited() -> None:
    console = recorded(100)
    with Progress(console=console, auto_refresh=False) as progress:
        bar = UploadBar(progress, "Uploading mine.json", "Waiting for scores")
        labels = []
        for sent in (1, 2):
            bar(sent, 2)
            labels.append(progress.tasks[0].description)
        bar.relabel("Waiting for scores, position 3")
        labels.append(progress.tasks[0].description)
    assert labels == ["Uploading mine.json", "Waiting for scores", "Waiting for scores, position 3"]


def test_a_sentence_tells_what_was_found_and_what_is_expected_once() -> None:
    label = {"line": 3, "message": '"goose" is not in the vocabulary.', "got": '"goose"', "expected": '"duck", "owl"'}
    header = {"line": 1, "message": "The header does not name 'label'.", "got": '"id", "kind"', "expected": "'label'"}
    console = recorded(80)
    show_problems(console, {"problems": [label, header]})
    assert console.export_text().splitlines()[1:] == [
        'line 3: "goose" is not in the vocabulary. Expected: "duck", "owl".',
        'line 1: The header does not name \'label\'. Got: "id", "kind".',
    ]
