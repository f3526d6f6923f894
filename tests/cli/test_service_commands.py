"""Commands that use a service: their requests, output and exit status."""

import json
from pathlib import Path

import pytest

from tests.cli.run_command import run_assay
from tests.cli.scripted_server import ScriptedAnswer, ScriptedServer

SUBMISSIONS = "POST /api/v1/challenges/irony/submissions"
CHALLENGE = {
    "slug": "irony",
    "title": "Irony",
    "task": "binary",
    "recipe": {"primary": "f1", "metrics": ["f1", {"key": "accuracy"}]},
    "phases": [{"name": "main", "slug": "main", "opens_at": "2026-01-01T00:00:00Z", "closes_at": None}],
}
BOARD = {
    "challenge": "irony",
    "phase": "main",
    "split": "all",
    "primary": "f1",
    "rows": [
        {
            "rank": 1,
            "team": {"id": "t1", "name": "Alpha\x1b[2J"},
            "method": "m1",
            "entries": 2,
            "baseline": False,
            "scores": {"f1": {"value": 0.75}},
        },
        {
            "rank": None,
            "team": {"id": "t2", "name": "Majority"},
            "method": "m2",
            "entries": 1,
            "baseline": True,
            "scores": {"f1": {"value": None}},
        },
    ],
}


@pytest.fixture
def predictions(tmp_path: Path) -> Path:
    path = tmp_path / "mine.json"
    path.write_text('{"t1": "a"}')
    return path


def finished(status: str) -> dict[str, object]:
    scores = {"f1": {"value": 0.75}} if status == "finished" else {}
    problems = [{"code": "unknown_id", "pointer": "/t1", "instance_id": "t1", "message": "Take the template's ids."}]
    refused = {"problems": problems, "total": {"unknown_id": 1}} if status == "rejected" else {}
    return {"id": "s1", "status": status, "scores": scores, **refused}


@pytest.mark.parametrize(
    ("status", "ends"),
    [("finished", 0), ("rejected", 1), ("failed", 1), ("cancelled", 1), ("queued", 3), ("running", 3)],
)
def test_the_status_of_a_waited_for_submission_is_the_exit_status(
    service: ScriptedServer, predictions: Path, status: str, ends: int
) -> None:
    service.on(SUBMISSIONS, ScriptedAnswer(202, finished(status)))
    service.on("GET /api/v1/submissions/s1", ScriptedAnswer(200, finished(status)))
    ran = run_assay("submit", "irony", "-f", predictions, "--wait", "--timeout", "0.05", "--url", service.url, "--json")
    assert ran.status == ends
    assert ran.value() == finished(status)


def test_without_wait_being_queued_is_done(service: ScriptedServer, predictions: Path) -> None:
    service.on(SUBMISSIONS, ScriptedAnswer(202, finished("queued")))
    ran = run_assay("submit", "irony", "-f", predictions, "-m", "SVM", "--url", service.url)
    assert ran.status == 0
    assert "s1" in ran.out
    assert "assay submission s1" in ran.err
    assert service.requests[0].query["method"] == ["SVM"]


def test_problems_of_a_rejected_file_are_shown_with_place_and_remedy(
    service: ScriptedServer, predictions: Path
) -> None:
    service.on(SUBMISSIONS, ScriptedAnswer(201, finished("rejected")))
    ran = run_assay("submit", "irony", "-f", predictions, "--url", service.url)
    for part in ("unknown_id 1", "/t1", "Take the template's ids."):
        assert part in ran.out


def test_a_dry_run_reports_valid_files_and_invalid_ones(service: ScriptedServer, predictions: Path) -> None:
    good = {"valid": True, "total": {}, "problems": []}
    bad = {
        "valid": False,
        "total": {"syntax": 1},
        "problems": [{"code": "syntax", "line": 2, "column": 7, "message": "m"}],
    }
    service.on(SUBMISSIONS, ScriptedAnswer(200, good), ScriptedAnswer(200, bad))
    first = run_assay("validate", "irony", "-f", predictions, "--url", service.url)
    assert (first.status, first.out) == (0, "mine.json is valid.\n")
    second = run_assay("validate", "irony", "-f", predictions, "--url", service.url)
    assert second.status == 1
    assert "line 2, column 7" in second.err
    third = run_assay("validate", "irony", "-f", predictions, "--url", service.url, "--json")
    assert (third.status, third.value()) == (1, bad)
    assert all(request.query["dry_run"] == ["true"] for request in service.requests)


def test_the_board_shows_ranks_names_and_values_and_no_control_characters(service: ScriptedServer) -> None:
    service.on("GET /api/v1/challenges/irony", ScriptedAnswer(200, CHALLENGE))
    service.on("GET /api/v1/challenges/irony/phases/main/leaderboard", ScriptedAnswer(200, BOARD))
    ran = run_assay("leaderboard", "irony", "--url", service.url)
    assert ran.status == 0
    assert "Alpha\\x1b[2J" in ran.out
    assert "\x1b" not in ran.out
    assert "0.75" in ran.out
    assert "baseline" in ran.out
    assert run_assay("leaderboard", "irony", "--url", service.url, "--json").value() == BOARD


@pytest.mark.parametrize(("form", "table"), [("csv", "rank,team\n1,Alpha\n"), ("latex", "\\begin{tabular}{rl}\n")])
def test_the_board_as_a_table_is_what_the_service_sends(service: ScriptedServer, form: str, table: str) -> None:
    service.on("GET /api/v1/challenges/irony/phases/main/leaderboard", ScriptedAnswer(200, table))
    words = ("leaderboard", "irony", "--phase", "main", f"--{form}", "--metric", "f1", "--url", service.url)
    assert run_assay(*words).out == table
    assert service.requests[0].query == {"format": [form], "metric": ["f1"]}
    assert run_assay(*words, "--json").status == 2


def test_a_page_of_the_board_says_how_to_get_the_next_one(service: ScriptedServer) -> None:
    page = BOARD | {"total": 40, "next": "2"}
    service.on("GET /api/v1/challenges/irony/phases/main/leaderboard", ScriptedAnswer(200, page))
    words = ("leaderboard", "irony", "--phase", "main", "--limit", "2", "--url", service.url)
    ran = run_assay(*words, "--cursor", "7")
    assert service.requests[0].query == {"limit": ["2"], "cursor": ["7"]}
    assert f"{len(BOARD['rows'])} of 40 rows; the next ones: --cursor 2" in ran.err
    assert run_assay(*words, "--json").value() == page
    run_assay(*words, "--csv")
    assert service.requests[-1].query == {"limit": ["2"], "format": ["csv"]}


def test_challenges_are_listed_and_shown(service: ScriptedServer) -> None:
    service.on("GET /api/v1/challenges", ScriptedAnswer(200, {"items": [CHALLENGE], "next": None}))
    service.on("GET /api/v1/challenges/irony", ScriptedAnswer(200, CHALLENGE))
    assert "Irony" in run_assay("challenge", "list", "--url", service.url).out
    assert run_assay("challenge", "list", "--url", service.url, "--json").value() == [CHALLENGE]
    shown = run_assay("challenge", "show", "irony", "--url", service.url).out
    assert "metrics: f1, accuracy" in shown
    assert run_assay("challenge", "show", "irony", "--url", service.url, "--json").value() == CHALLENGE


def test_a_challenge_is_created_from_yaml(service: ScriptedServer, tmp_path: Path) -> None:
    path = tmp_path / "challenge.yaml"
    path.write_text("slug: irony\nclasses: [yes, no, 010, 2026-01-01]\nphases: [{name: main, opens_at: 2026-01-01}]\n")
    service.on("POST /api/v1/challenges", ScriptedAnswer(201, CHALLENGE))
    assert run_assay("challenge", "create", "-f", path, "--url", service.url, "--json").value() == CHALLENGE
    assert json.loads(service.requests[0].body) == {
        "slug": "irony",
        "classes": ["yes", "no", "010", "2026-01-01"],
        "phases": [{"name": "main", "opens_at": "2026-01-01"}],
    }


@pytest.mark.parametrize("text", ["a: [", "a: 1\na: 2", "- a", "\t", "a: !!python/name:os.system"])
def test_a_bad_description_is_refused_before_anything_is_sent(
    service: ScriptedServer, tmp_path: Path, text: str
) -> None:
    path = tmp_path / "challenge.yaml"
    path.write_text(text)
    ran = run_assay("challenge", "create", "-f", path, "--url", service.url, "--json")
    assert (ran.status, service.requests) == (1, [])
    assert str(path) in ran.value()["detail"]


def test_gold_goes_up_as_a_draft_and_is_activated_when_asked(service: ScriptedServer, predictions: Path) -> None:
    route = "POST /api/v1/challenges/irony/phases/main/gold"
    service.on(route, ScriptedAnswer(201, {"version": 1, "status": "draft"}))
    service.on(f"{route}/1/activate", ScriptedAnswer(201, {"version": 1, "status": "active"}))
    words = ("gold", "upload", "irony", "-f", predictions, "--phase", "main", "--url", service.url)
    for option, line in (("--activate", "active"), ("--draft", "draft"), (None, "draft")):
        ran = run_assay(*words, *([] if option is None else [option]))
        assert (ran.status, ran.out.splitlines()[-1]) == (0, f"Gold version 1 of irony/main: {line}.")
    assert [request.path.rsplit("/", 1)[1] for request in service.requests] == ["gold", "activate", "gold", "gold"]
    assert {request.query["activate"][0] for request in service.requests if request.query} == {"false"}


def test_tables_go_to_the_draft_before_it_is_activated(
    service: ScriptedServer, predictions: Path, tmp_path: Path
) -> None:
    base = "/api/v1/challenges/irony/phases/main/gold"
    counts = tmp_path / "counts.json"
    counts.write_text('{"a": 3}')
    service.on(f"POST {base}", ScriptedAnswer(201, {"version": 7, "status": "draft"}))
    service.on(f"PUT {base}/7/train-frequencies", ScriptedAnswer(200, {"version": 7, "status": "draft"}))
    service.on(f"POST {base}/7/activate", ScriptedAnswer(201, {"version": 7, "status": "active"}))
    words = (
        "gold",
        "upload",
        "irony",
        "-f",
        predictions,
        "--phase",
        "main",
        "--activate",
        "--train-frequencies",
        counts,
    )

    assert run_assay(*words, "--url", service.url, "--json").value() == {"version": 7, "status": "active"}
    assert [request.method for request in service.requests] == ["POST", "PUT", "POST"]
    assert service.requests[0].query["activate"] == ["false"]
    assert json.loads(service.requests[1].body) == {"a": 3}


def test_a_refused_table_leaves_a_draft_and_that_is_said(
    service: ScriptedServer, predictions: Path, tmp_path: Path
) -> None:
    base = "/api/v1/challenges/irony/phases/main/gold"
    tree = tmp_path / "tree.json"
    tree.write_text('{"parents": {"a": ["r"]}}')
    service.on(f"POST {base}", ScriptedAnswer(201, {"version": 7, "status": "draft"}))
    service.on(
        f"PUT {base}/7/hierarchy", ScriptedAnswer(400, {"code": "bad_request", "detail": "1 class is not a node"})
    )
    words = ("gold", "upload", "irony", "-f", predictions, "--phase", "main", "--hierarchy", tree)
    ran = run_assay(*words, "--url", service.url)
    assert ran.status == 1
    assert "Version 7 is stored as a draft" in ran.err
    assert [request.method for request in service.requests] == ["POST", "PUT"]  # and is not activated


def test_registering_founds_a_team(service: ScriptedServer) -> None:
    service.on(
        "POST /api/v1/challenges/irony/registrations",
        ScriptedAnswer(201, {"status": "approved", "team": {"name": "Alpha"}}),
    )
    assert "Alpha" in run_assay("register", "irony", "--team", "Alpha", "--url", service.url).out
    assert [json.loads(request.body) for request in service.requests] == [{"team": "Alpha"}]


def test_choosing_and_taking_it_back_are_posts(service: ScriptedServer) -> None:
    service.on("POST /api/v1/submissions/s1/select", ScriptedAnswer(200, {"id": "s1", "selected": True}))
    service.on("POST /api/v1/submissions/s1/unselect", ScriptedAnswer(200, {"id": "s1", "selected": False}))
    assert run_assay("select", "s1", "--url", service.url).status == 0
    assert run_assay("unselect", "s1", "--url", service.url, "--json").value() == {"id": "s1", "selected": False}


@pytest.mark.parametrize(("rule", "has_warning"), [("best", True), ("latest", True), ("selected", False)])
def test_a_choice_that_changes_nothing_is_said_to(service: ScriptedServer, rule: str, has_warning: bool) -> None:
    selection = {"rule": rule, "meaning": "M."}
    service.on("POST /api/v1/submissions/s1/select", ScriptedAnswer(200, {"id": "s1", "selection": selection}))
    ran = run_assay("select", "s1", "--url", service.url)
    assert (ran.status, "no effect" in ran.err, "M." in ran.err) == (0, has_warning, True)


def test_the_template_is_written_or_printed(service: ScriptedServer, tmp_path: Path) -> None:
    service.on("GET /api/v1/challenges/irony/phases/main/template", ScriptedAnswer(200, "id,label\nt1,\n"))
    words = ("template", "irony", "--phase", "main", "--format", "csv", "--url", service.url)
    assert run_assay(*words).out == "id,label\nt1,\n"
    target = tmp_path / "mine.csv"
    assert run_assay(*words, "-o", target, "--json").value() == {"file": str(target), "format": "csv", "bytes": 13}
    assert target.read_text() == "id,label\nt1,\n"
    assert service.requests[0].query == {"format": ["csv"]}


def test_the_quota_is_shown_in_words(service: ScriptedServer) -> None:
    found = {
        "limits": {"per_day": 10, "total": None},
        "used": {"per_day": 3, "total": 7},
        "remaining": {"per_day": 7, "total": None},
        "reset_at": "2026-01-02T00:00:00+01:00",
        "ledger": [],
    }
    service.on("GET /api/v1/challenges/irony/phases/main/quota", ScriptedAnswer(200, found))
    words = ("quota", "irony", "--phase", "main", "--url", service.url)
    shown = [line.split() for line in run_assay(*words).out.splitlines()]
    assert ["a", "day", "10", "3", "7"] in shown
    assert ["in", "total", "none", "7", "–"] in shown or ["in", "total", "none", "7"] in shown
    assert "2026-01-01 23:00:00 UTC" in run_assay(*words).out
    assert run_assay(*words, "--json").value() == found


def test_link_and_description_go_with_a_submission(service: ScriptedServer, predictions: Path) -> None:
    service.on(SUBMISSIONS, ScriptedAnswer(202, finished("queued")))
    run_assay("submit", "irony", "-f", predictions, "--link", "https://example.org/p", "--url", service.url)
    assert service.requests[0].query["link"] == ["https://example.org/p"]


def test_predictions_come_through_a_pipe_too(service: ScriptedServer) -> None:
    service.on(SUBMISSIONS, ScriptedAnswer(202, finished("queued")))
    assert run_assay("submit", "irony", "-f", "-", "--url", service.url, stdin='{"t1": "a"}').status == 0
    assert service.requests[0].body == b'{"t1": "a"}'
    assert service.requests[0].query["filename"] == ["stdin.json"]


def test_a_challenge_is_edited_and_published(service: ScriptedServer, tmp_path: Path) -> None:
    changes = tmp_path / "changes.yaml"
    changes.write_text("slug: irony\ntitle: Irony, again\n")
    service.on("GET /api/v1/challenges/irony", ScriptedAnswer(200, CHALLENGE))
    service.on("PATCH /api/v1/challenges/irony", ScriptedAnswer(200, CHALLENGE))
    assert run_assay("challenge", "edit", "irony", "-f", changes, "--url", service.url).status == 0
    assert run_assay("challenge", "publish", "irony", "--url", service.url, "--json").value() == CHALLENGE
    assert [json.loads(each.body) for each in service.sent("PATCH")] == [{"title": "Irony, again"}, {"draft": False}]
    request_count = len(service.requests)
    other = run_assay("challenge", "edit", "other", "-f", changes, "--url", service.url, "--json")
    assert (other.status, other.value()["code"], len(service.requests)) == (1, "other_slug", request_count)


def test_gold_is_listed_and_a_draft_activated(service: ScriptedServer, predictions: Path) -> None:
    base = "/api/v1/challenges/irony/phases/main/gold"
    draft = {"version": 2, "status": "draft", "instances": 9, "classes": ["a", "b"]}
    remark = "No classes were declared, so the 2 labels of this gold, sorted, are the vocabulary."
    note = "no classes were declared: the sorted labels of the gold (2) are the vocabulary"
    service.on(f"POST {base}", ScriptedAnswer(201, draft))
    older = draft | {"version": 1, "status": "active"}
    pages = (
        ScriptedAnswer(200, {"items": [draft], "next": "2"}),
        ScriptedAnswer(200, {"items": [older], "next": None}),
    )
    service.on(f"GET {base}", *pages, *pages)
    service.on(
        f"POST {base}/2/activate",
        ScriptedAnswer(201, draft | {"status": "active", "remarks": [remark], "notes": [note]}),
    )
    rest = ("--phase", "main", "--url", service.url)
    assert (
        "assay gold activate irony 2 --phase main"
        in run_assay("gold", "upload", "irony", "-f", predictions, "--draft", *rest).err
    )
    assert run_assay("gold", "list", "irony", *rest, "--json").value() == [draft, older]
    assert [request.query.get("cursor") for request in service.sent("GET")] == [None, ["2"]]
    assert ["2", "draft", "9", "2"] in [
        line.split() for line in run_assay("gold", "list", "irony", *rest).out.splitlines()
    ]
    ran = run_assay("gold", "activate", "irony", "2", *rest)
    assert ran.out == "Gold version 2 of irony/main: active.\n"
    assert ran.err.count("vocabulary") == 1


def test_a_challenge_shows_what_participants_ask_for(service: ScriptedServer) -> None:
    phase: dict[str, object] = {"name": "Main", "slug": "main", "opens_at": "2026-01-01T00:00:00Z", "closes_at": None}
    phase |= {"quota": {"per_day": 5, "total": None}, "leaderboard": "public", "classes": ["not", "yes"]}
    phase |= {"open": True, "task": "multilabel", "own_recipe": True}
    recipe = {"primary": "f1", "metrics": ["accuracy"], "tie_breakers": ["mcc"], "selection": "latest"}
    service.on("GET /api/v1/challenges/irony", ScriptedAnswer(200, CHALLENGE | {"recipe": recipe, "phases": [phase]}))
    shown = run_assay("challenge", "show", "irony", "--url", service.url).out
    for part in ("metrics: f1, accuracy", "tie-breakers: mcc", "selection: latest", "classes of main: not, yes"):
        assert part in shown
    assert "task of main: multilabel" in shown
    assert "metrics and selection of main: its own, see assay recipe show irony --phase main" in shown
    assert "main   open  2026-01-01 00:00:00 UTC  never   5 a day  public" in shown


def test_submissions_are_listed_with_their_scores(service: ScriptedServer) -> None:
    service.on(
        "GET /api/v1/challenges/irony/phases/main/submissions",
        ScriptedAnswer(200, {"items": [finished("finished"), finished("queued")], "next": None}),
    )
    ran = run_assay("submissions", "irony", "--phase", "main", "--url", service.url)
    assert "0.75" in ran.out
    assert "queued" in ran.out
    assert len(run_assay("submissions", "irony", "--phase", "main", "--url", service.url, "--json").value()) == 2


def test_one_submission_is_shown_whatever_its_status(service: ScriptedServer) -> None:
    service.on("GET /api/v1/submissions/s1", ScriptedAnswer(200, finished("rejected")))
    assert run_assay("submission", "s1", "--url", service.url).status == 0
    assert run_assay("submission", "s1", "--url", service.url, "--json").value() == finished("rejected")


TOLD = {
    "phase": "main",
    "statement": "One submission reveals at most 5 bits about the gold to a team.",
    "lowered_by": ["fewer digits", "fewer metrics"],
}


@pytest.mark.parametrize("words", [("challenge", "show", "irony"), ("challenge", "create", "-f", "{file}")])
def test_what_scores_tell_of_the_gold_stands_with_the_challenge(
    service: ScriptedServer, tmp_path: Path, words: tuple[str, ...]
) -> None:
    file = tmp_path / "irony.yaml"
    file.write_text(json.dumps(CHALLENGE))
    made = CHALLENGE | {"recipe": {"primary": "f1", "metrics": ["f1"], "inference": [TOLD]}, "warnings": ["Beware."]}
    service.on("GET /api/v1/challenges/irony", ScriptedAnswer(200, made))
    service.on("GET /api/v1/challenges/irony/organizers", ScriptedAnswer(200, {"items": [], "next": None}))
    service.on("POST /api/v1/challenges", ScriptedAnswer(201, made))
    ran = run_assay(*(word.format(file=file) for word in words), "--url", service.url)
    assert ran.status == 0
    shown = " ".join(ran.out.split())
    assert f"What scores of main disclose: {TOLD['statement']}" in shown
    assert "They would disclose less with: fewer digits; fewer metrics." in shown
    assert ("Warning: Beware." in ran.err) == (words[1] == "create")


def test_activation_says_what_scores_tell_of_the_gold(service: ScriptedServer) -> None:
    active = {"version": 1, "status": "active", "remarks": [], "notes": [], "inference": TOLD}
    service.on("POST /api/v1/challenges/irony/phases/main/gold/1/activate", ScriptedAnswer(201, active))
    ran = run_assay("gold", "activate", "irony", "1", "--phase", "main", "--url", service.url)
    assert (ran.status, str(TOLD["statement"]) in " ".join(ran.err.split())) == (0, True)
