"""Every table that the command line prints fits the terminal, loses nothing that it shows, and keeps ids in one piece."""

import ast
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

import app.cli.terminal
from app.cli.terminal import (
    account_tables,
    announcement_tables,
    archive_tables,
    audit_table,
    board_tables,
    correction_tables,
    gold_facts,
    import_tables,
    item_tables,
    log_tables,
    object_tables,
    order_tables,
    phase_tables,
    problem_tables,
    registration_tables,
    significance_table,
    team_tables,
    version_tables,
)
from app.cli.terminal.table_layout import Column, show_table
from tests.cli.run_command import run_assay, write_file

WIDTHS = (40, 60, 80, 100, 120, 200)
IDS = ["019a3c5e7b1f7d04a2c98e6f50b1d327", "019a3c5e7b1f7d04a2c98e6f50b1d328"]
LONG = "a text of many short words that no single line of a usual terminal can hold, so it has to be wrapped, " * 2
TIME = "2027-01-31T12:00:00.123456Z"
MEMBERS = [{"id": IDS[1], "name": LONG, "captain": True, "status": "approved", "joined_at": TIME}]
TEAM: dict[str, Any] = {"id": IDS[0], "name": LONG, "members": MEMBERS, "baseline": True, "created_at": TIME}
TEAM |= {"disqualified_at": TIME, "disqualified_reason": LONG}
PHASE: dict[str, Any] = {"slug": "development", "open": True, "leaderboard": "live", "timezone": "Pacific/Honolulu"}
PHASE |= {"opens_at": TIME, "opens_at_local": "2027-01-31T02:00:00-10:00", "quota": {"per_day": 5, "total": 100}}
PHASE |= {"closes_at": TIME, "closes_at_local": "2027-01-31T02:00:00-10:00"}
CHALLENGE: dict[str, Any] = {"slug": "digits", "title": LONG, "task": "multiclass", "status": "open"}
CHALLENGE |= {"visibility": "public", "registration": "approval", "phases": [PHASE]}
SCORES = {key: {"value": 0.123456} for key in ("f1_macro", "accuracy", "matthews_correlation")}
SUBMISSION: dict[str, Any] = {"id": IDS[0], "status": "finished", "method": LONG, "team": TEAM, "scores": SCORES}
SUBMISSION |= {"timings": {"submitted_at": TIME}, "rank": 1, "public_rank": 2, "queue_position": 1, "eta": TIME}
OTHER = SUBMISSION | {"id": IDS[1], "team": {"id": IDS[1], "name": "Green"}, "selected": True, "withdrawn_at": TIME}
OTHER |= {"scores": {"f1_macro": {"value": None, "reason": LONG}}}
RULE = {"rule": "best", "meaning": LONG}
ROW = {"rank": 1, "public_rank": 2, "team": TEAM, "method": LONG, "entries": 3, "scores": SCORES, "on_behalf": True}
REGISTRATION: dict[str, Any] = {"id": IDS[0], "user": {"name": LONG, "email": "a.rather.long.name@example.org"}}
REGISTRATION |= {"team": TEAM, "status": "approved", "reason": LONG, "terms_version": 2, "created_at": TIME}
REGISTRATION["history"] = [{"at": TIME, "action": "approved", "role": "organizer", "reason": LONG}]
USER = {"id": IDS[0], "email": "a.rather.long.name@example.org", "name": LONG, "approved": True, "created_at": TIME}
IMPORT: dict[str, Any] = {"id": IDS[0], "status": "failed", "slug": "digits", "challenge": None, "phase": None}
IMPORT |= {"done": 3, "total": 5, "stage": "", "requested_at": TIME, "failure": {"detail": LONG, "remedy": LONG}}
IMPORT["origin"] = {"challenge": "digits", "phase": "main", "url": "https://assay.example.org", "exported_at": TIME}
IMPORT["ids"] = [{"kind": "team", "origin_id": IDS[0], "local_id": IDS[1]}]
TOKEN = {"id": IDS[0], "name": LONG, "scopes": ["read", "submit"], "last_used_at": TIME, "expires_at": TIME}
INVITATION = {"id": IDS[0], "note": LONG, "uses": 1, "max_uses": 30, "expires_at": TIME}
ENTRY: dict[str, Any] = {"at": TIME, "actor": {"id": IDS[1], "name": LONG}, "role": "owner", "reason": LONG}
ENTRY |= {"action": "submission.disqualify", "object": {"type": "submission", "id": IDS[0]}, "team": TEAM}
ENTRY |= {"challenge": {"slug": "digits"}, "changes": {"closes_at": {"from": None, "to": TIME}}}
RELEASE: dict[str, Any] = {"private_rank": 1, "mark": None, "public_rank": 2, "move": 1, "team": TEAM}
RELEASE |= {"baseline": False, "submission": IDS[0]}
VERSION = {"version": 1, "status": "active", "instances": 1000, "classes": ["a"], "created_at": TIME}
CHANGES: dict[str, Any] = {"base": 1, "counts": {"relabelled": 12, "voided": 3}, "metadata": ["class-weights"]}
CHANGES["class_counts"] = {"before": {"all": [500, 500]}, "after": {"all": [497, 500]}}
LATER = VERSION | {"classes": [LONG, "b"], "difference": CHANGES}
FILE = {"name": LONG, "size": 12345, "licence": LONG, "audience": "public", "description": LONG, "sha256": "0" * 64}
COMPARED: dict[str, Any] = {
    "challenge": "digits",
    "phase": "main",
    "metric": "f1_macro",
    "split": "all",
    "status": "current",
}
COMPARED |= {"reason": None, "conclusion": LONG, "draw_seed": "0", "selection": {"meaning": LONG}}
COMPARED |= {"rests_on": {"notes": [LONG], "n": 899, "groups": None, "draws": 10_000}}
COMPARED["rows"] = [
    {"rank": 1, "rank_low": 1, "rank_high": 2, "tie_group": 1, "team": TEAM, "value": 0.9, "low": 0.85, "high": 0.93}
    | {"entries": 3}
]
_FLIP = {"metrics": ["f1_macro", "accuracy"], "significant": True}
_RANKS = {"f1_macro": 1, "accuracy": 2}
RANKINGS: dict[str, Any] = {"metrics": [{"metric": "f1_macro"}, {"metric": "accuracy"}], "notes": [LONG]}
RANKINGS |= {"rows": [{"system": LONG, "ranks": _RANKS}], "flips": [_FLIP | {"a": LONG, "b": "Green"}]}
RANKINGS |= {"tau": {name: dict.fromkeys(_RANKS, 0.5) for name in _RANKS}, "significant_flips": 1}
RANKINGS |= {"tau_rows": {name: dict.fromkeys(_RANKS, 2) for name in _RANKS}}
RANKINGS |= {"flip_counts": {"f1_macro": {"accuracy": 1}, "accuracy": {"f1_macro": 1}}}
RANKED: dict[str, Any] = COMPARED | {"primary": "f1_macro", "rows": [{"row": 0, "team": TEAM}]}
RANKED["result"] = RANKINGS | {"rows": [{"key": 0, "ranks": _RANKS}], "flips": [_FLIP | {"a": 0, "b": 0}]}
LADDER: dict[str, Any] = {"ladder": {"meaning": LONG}, "guarantee": LONG, "phase": "main"}
LADDER["teams"] = [{"team": TEAM, "submissions": 5, "releases": 2, "waiting": 0, "value": 0.75}]
_BESIDE: dict[str, Any] = {"team": TEAM, "change": "up", "move": 1}
_BESIDE |= {side: {"submission": IDS[0], "rank": 2, "tied": 1, "scores": SCORES} for side in ("before", "after")}
_COUNTS = {"ranked_after": 2, "moved": 1, "largest_move": 1, "entered": 0, "left": 0}
BESIDE: dict[str, Any] = {"rows": [_BESIDE], "counts": _COUNTS, "leaders": {"changed": True}}
BESIDE["primary"] = {"before": "f1_macro", "after": "f1_macro"}
_BETWEEN = {"from": {"gold": 1, "recipe": 1, "scorer_version": 2}, "to": {"gold": 2, "recipe": 1, "scorer_version": 2}}
PREVIEW: dict[str, Any] = {"challenge": "digits", "phase": "main", "status": "done", "failure": None} | _BETWEEN
PREVIEW |= {"progress": {}, "outdated": True, "remedy": LONG, "gold_changes": {"counts": {"relabelled": 2}}}
PREVIEW["result"] = {"splits": {"public": BESIDE}, "ladder": BESIDE, "empty_predictions": []}
PREVIEW["result"]["unscored"] = [{"submission": IDS[0], "team": TEAM}]
ERRATUM: dict[str, Any] = {
    "phase": "main",
    "number": 2,
    "switched_at": TIME,
    "reason": LONG,
    "withheld": None,
} | _BETWEEN
ERRATUM |= {"gold_changes": {"counts": {"voided": 1}}, "instances": {"voided": ["t1"]}, "ladder": False}
ERRATUM["recipe_changes"] = {"metrics_added": ["mcc"], "metrics_removed": [], "changed": {}}
ERRATUM["boards"] = {"public": BESIDE}
_VERSIONS = {"gold": 1, "recipe": 2, "scorer_version": 2}
_RECORDS: dict[str, dict[str, Any]] = {
    "switch": {"number": 1, "from": _VERSIONS, "to": _VERSIONS},
    "gold": {"version": 1, "commitment": "0" * 64},
    "release": {"gold_version": 1, "recipe_version": 1, "scorer_version": 2},
    "frozen_board": {"number": 1, "sha256": "0" * 64},
}
LOG_RECORDS: list[dict[str, Any]] = [
    {"id": IDS[0], "kind": kind, "phase": "main", "recorded_at": TIME, "position": None, "record": json.dumps(record)}
    for kind, record in _RECORDS.items()
]
PROBLEM = {"file": "gold", "code": "unknown_id", "line": 3, "column": 1, "got": LONG, "message": LONG}
PROBLEM["instance_id"] = IDS[0]

SYSTEMS = {"systems": [{"team": TEAM}, {"system": LONG}]}
_ANSWERS = [{"labels": [LONG], "votes": 3, "right": False}]
ITEM: dict[str, Any] = {"id": IDS[0], "gold": ["a", "b"], "right": 1, "systems": 4, "answers": _ANSWERS}
ITEM |= {"suspicion": 0.5, "discrimination": None}
ITEMS: dict[str, Any] = SYSTEMS | {"counts": {"none_right": 1, "all_right": 2, "suspect": 1}, "instances": 4}
PAIR: dict[str, Any] = {"a": 0, "b": 1, "agreement": 0.987654, "kappa": 0.9, "error_overlap": None}
PAIR |= {"identical": True, "reported": True, "same_wrong": 120, "either_wrong": 130}
PAIR |= {"expected": 12.3456, "deviations": 20.5}
_VALUES = {"f1_macro": {"before": 0.123456, "after": None}}
MOVES: dict[str, Any] = SYSTEMS | {"changes": {"relabelled": 1, "voided": 0, "unchanged": 0}, "moved": 1}
MOVES |= {"instances": {"before": 4, "after": 4}, "ranked_by": ["f1_macro"]}
MOVES["rows"] = [{"system": 0, "rank": {"before": 2, "after": 1}, "values": _VALUES}]
ARCHIVED: dict[str, Any] = {"submission": IDS[0], "team": LONG, "method": LONG, "split": "private"}
ARCHIVED |= {"gold_version": 1, "recipe_version": 2, "scorer_version": 2, "outcome": "other_scorer", "differences": {}}
ARCHIVED["instances"] = "different"
POINT = {"at": TIME, "kind": "team_disqualification", "team": TEAM, "entries": 3, "reason": LONG}
POINT |= {"gold_version": 1, "recipe_version": 1, "scorer_version": 1}
POINT["changes"] = [{"team": TEAM, "rank": 1, "value": 0.5, "mark": None}] * 5
HISTORY = {"challenge": "digits", "phase": "main", "primary": "f1_macro", "total": 1, "points": [POINT]}
FROZEN: dict[str, Any] = {"number": 1, "title": LONG, "frozen_at": TIME, "superseded_by": 2, "sha256": "0" * 64}
FROZEN |= {"reason": LONG, "citation": LONG}
FROZEN["content"] = {"rows": [], "metrics": [{"key": "f1_macro"}], "primary": "f1_macro", "split": "all"}
FROZEN["content"] |= {"gold_version": 1, "recipe_version": 1, "scorer_version": 1}
FROZEN["content"]["rows"] = [
    {"rank": 1, "team": LONG, "method": LONG, "scores": {"f1_macro": {"value": "0.5"}}, "entries": 3}
    | {"baseline": False, "mark": None}
]

SWITCH: dict[str, Any] = {"number": 2, "status": "pending", "switched_at": TIME, "requested_by": LONG, "reason": LONG}
SWITCH |= {"from": {"gold": 1, "recipe": 1, "scorer_version": 2}, "to": {"gold": 2, "recipe": 1, "scorer_version": 2}}
RECIPE_VERSION = {"version": 2, "status": "draft", "phase": LONG, "primary": "f1_macro", "selection": "best"}
RECIPE_VERSION |= {"metrics": ["f1_macro", "accuracy"]}

TABLES: Mapping[str, Callable[[Console], None]] = {
    "show_archived_scores": lambda console: archive_tables.show_archived_scores(console, [ARCHIVED]),
    "show_users": lambda console: account_tables.show_users(console, [USER]),
    "show_tokens": lambda console: account_tables.show_tokens(console, [TOKEN]),
    "show_invitations": lambda console: account_tables.show_invitations(console, [INVITATION]),
    "show_files": lambda console: announcement_tables.show_files(console, [FILE]),
    "show_imports": lambda console: import_tables.show_imports(console, [IMPORT]),
    "show_import": lambda console: import_tables.show_import(console, IMPORT),
    "show_organizers": lambda console: announcement_tables.show_organizers(console, [USER | {"role": "owner"}]),
    "show_trail": lambda console: audit_table.show_trail(console, [ENTRY], with_challenge=True),
    "show_previews": lambda console: correction_tables.show_previews(console, [PREVIEW]),
    "show_preview": lambda console: correction_tables.show_preview(console, PREVIEW),
    "show_errata": lambda console: correction_tables.show_errata(console, [ERRATUM]),
    "show_log_records": lambda console: log_tables.show_log_records(console, LOG_RECORDS),
    "show_difference": lambda console: correction_tables.show_difference(console, BESIDE, "public"),
    "show_switches": lambda console: version_tables.show_switches(console, [SWITCH]),
    "show_recipe_versions": lambda console: version_tables.show_recipe_versions(console, [RECIPE_VERSION]),
    "show_challenges": lambda console: object_tables.show_challenges(console, [CHALLENGE]),
    "show_phases": lambda console: object_tables.show_phases(console, [PHASE]),
    "show_gold_versions": lambda console: object_tables.show_gold_versions(console, [VERSION]),
    "show_gold": lambda console: gold_facts.show_gold(console, LATER),
    "show_gold_difference": lambda console: gold_facts.show_gold_difference(console, CHANGES, [LONG, "b"]),
    "show_quota": lambda console: object_tables.show_quota(console, {"limits": {"per_day": 5, "invalid_per_day": 20}}),
    "show_submissions": lambda console: object_tables.show_submissions(console, [SUBMISSION, OTHER]),
    "show_submission": lambda console: object_tables.show_submission(console, OTHER | {"selection": RULE}),
    "show_board": lambda console: object_tables.show_board(console, {"rows": [ROW], "primary": "f1_macro"}),
    "show_rank_history": lambda console: board_tables.show_rank_history(console, HISTORY),
    "show_frozen_boards": lambda console: board_tables.show_frozen_boards(console, [FROZEN]),
    "show_frozen_board": lambda console: board_tables.show_frozen_board(console, FROZEN),
    "show_release": lambda console: phase_tables.show_release(
        console,
        {"rows": [RELEASE], "selection": RULE, "released_at": None, "choices_until": None, "obstacles": []},
    ),
    "show_significance": lambda console: significance_table.show_significance(console, COMPARED),
    "show_board_rankings": lambda console: significance_table.show_board_rankings(console, RANKED),
    "show_rankings": lambda console: order_tables.show_rankings(console, RANKINGS),
    "show_items": lambda console: item_tables.show_items(console, ITEMS | {"items": [ITEM]}),
    "show_agreement": lambda console: item_tables.show_agreement(
        console, SYSTEMS | {"fleiss_kappa": 0.5, "pairs": [PAIR]}
    ),
    "show_near_duplicates": lambda console: item_tables.show_near_duplicates(
        console, SYSTEMS | {"reported": 1, "compared": 1, "meaning": LONG, "pairs": [PAIR]}
    ),
    "show_relabelling": lambda console: item_tables.show_relabelling(console, MOVES),
    "show_ladder": lambda console: phase_tables.show_ladder(console, LADDER),
    "show_problems": lambda console: problem_tables.show_problems(console, {"problems": [PROBLEM]}),
    "show_registrations": lambda console: registration_tables.show_registrations(console, [REGISTRATION]),
    "show_registration": lambda console: registration_tables.show_registration(console, REGISTRATION),
    "show_teams": lambda console: team_tables.show_teams(console, [TEAM]),
    "show_team": lambda console: team_tables.show_team(console, TEAM),
}
OFFLINE = {"show_scores", "show_metric", "show_what_if", "show_order", "show_comparison"}
"""Shown by the commands of `test_tables_of_offline_commands_fit`."""


def printed(show: Callable[[Console], None], width: int) -> str:
    console = Console(file=io.StringIO(), width=width, record=True, markup=False, highlight=False)
    show(console)
    return console.export_text()


def rows_of_tables(text: str) -> list[str]:
    """The lines from the heading of each table to the next empty line or the end, which its rule of lines marks."""
    lines = text.splitlines()
    rules = [number for number, line in enumerate(lines) if line.strip(" ") and set(line) <= {"─", " "}]
    return [line for number in rules for line in lines[number - 1 : number + 2]]


def test_a_deleted_account_is_shown_by_its_name() -> None:
    user = {"name": "Deleted user b1d327", "email": f"deleted-{IDS[1]}@users.invalid"}
    row = {"id": IDS[0], "user": user, "status": "approved", "created_at": TIME}
    for text in (
        printed(lambda console: registration_tables.show_registrations(console, [row]), 200),
        printed(lambda console: registration_tables.show_registration(console, row), 200),
    ):
        assert ("Deleted user b1d327" in text, "users.invalid" in text) == (True, False)


def test_every_function_that_prints_a_table_is_tried_here() -> None:
    folder = Path(str(app.cli.terminal.__file__)).parent
    functions = [
        node
        for path in sorted(folder.glob("*.py"))
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef)
    ]
    calls = {
        function.name: {node.id for node in ast.walk(function) if isinstance(node, ast.Name)} for function in functions
    }
    printing = {"show_table"}
    while more := {name for name, used in calls.items() if used & printing} - printing:
        printing |= more
    composed = {"show_table", "show_challenge"}  # show_challenge prints its phases by show_phases
    assert {name for name in printing if not name.startswith("_")} - composed == TABLES.keys() | OFFLINE


@pytest.mark.parametrize("name", TABLES)
def test_a_table_fits_and_keeps_its_words_and_ids(name: str) -> None:
    whole = printed(TABLES[name], 2000)
    words, ids = sorted(whole.replace("─", "").split()), [each for each in IDS if each in whole]
    assert "(UTC)" in whole or TIME[:10] not in whole or f"{TIME[:10]} 12:00:00 UTC" in whole
    for width in WIDTHS:
        text = printed(TABLES[name], width)
        assert max(map(cell_len, rows_of_tables(text)), default=0) <= width, text
        if "more column" in text or (name == "show_problems" and not rows_of_tables(text)):
            continue  # a line says that columns are left out, and how to see them; or problems are sentences
        assert [each for each in ids if each in text] == ids, text
        if rows_of_tables(text):
            assert sorted(text.replace("─", "").split()) == words, text


@pytest.mark.parametrize("width", WIDTHS)
def test_tables_of_offline_commands_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    gold = write_file(tmp_path / "gold.json", {"t1": "a class with a rather long name", "t2": "b", "t3": "c"})
    mine = write_file(tmp_path / "mine.json", {"t1": "a class with a rather long name", "t2": "c", "t3": "c"})
    pair = ("--gold", gold, "--predictions", mine)
    convert = ("convert", "--n", 1000, "--positives", 120, "--precision", 0.81, "--recall", 0.74, "--f1", 0.5)
    both = ("compare", *pair, "--predictions", gold, "--metric", "accuracy", "--metric", "f1_macro")
    table = write_file(tmp_path / "t.csv", "model,q1,q2\na system with a rather long name,1,0\nb,1,1\n")
    score = ("score", *pair, "--per-class", "--confusion", "--ci")
    for words in (score, ("what-if", *pair), convert, ("metrics", "f1_macro"), both, ("order", table)):
        text = run_assay(*words).out
        assert max(map(cell_len, rows_of_tables(text)), default=0) <= width, text


_TEXTS = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=30)
_COLUMNS = st.lists(st.tuples(_TEXTS, st.lists(_TEXTS, min_size=2, max_size=6), st.booleans()), min_size=1, max_size=6)


@given(_COLUMNS, st.integers(20, 160))
def test_no_character_of_any_table_is_lost(columns: list[tuple[str, list[str], bool]], width: int) -> None:
    shown = [Column(name, [" ".join(words)], wrap=wrap) for name, words, wrap in columns]
    lines = printed(lambda console: show_table(console, shown), width).splitlines()
    if not lines[1] or not set(lines[1]) <= {"─", " "}:  # too narrow for a table
        assert [line.partition(": ")[2] for line in lines if line] == [str(column.values[0]) for column in shown]
        return
    assert max(map(cell_len, lines)) <= width
    assert sum(map(len, "".join(lines[2:]).split())) == sum(len(word) for _, words, _ in columns for word in words)
