"""Commands that talk to a service: what they send, what they print, how they end."""

import json
import stat
from pathlib import Path

import pytest

from app.cli.connection import credentials_path, remember, resolve
from app.cli.output import Refused
from tests.cli.command import run
from tests.cli.service import Answer, Service

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
    service: Service, predictions: Path, status: str, ends: int
) -> None:
    service.on(SUBMISSIONS, Answer(202, finished(status)))
    service.on("GET /api/v1/submissions/s1", Answer(200, finished(status)))
    ran = run("submit", "irony", "-f", predictions, "--wait", "--timeout", "0.05", "--url", service.url, "--json")
    assert ran.status == ends
    assert ran.value() == finished(status)


def test_without_wait_being_queued_is_done(service: Service, predictions: Path) -> None:
    service.on(SUBMISSIONS, Answer(202, finished("queued")))
    ran = run("submit", "irony", "-f", predictions, "-m", "SVM", "--url", service.url)
    assert ran.status == 0
    assert "s1" in ran.out
    assert service.asked[0].query["method"] == ["SVM"]


def test_problems_of_a_rejected_file_are_shown_with_place_and_remedy(service: Service, predictions: Path) -> None:
    service.on(SUBMISSIONS, Answer(201, finished("rejected")))
    ran = run("submit", "irony", "-f", predictions, "--url", service.url)
    for part in ("unknown_id 1", "/t1", "Take the template's ids."):
        assert part in ran.out


def test_a_refusal_is_explained_with_its_remedy_and_status_1(service: Service, predictions: Path) -> None:
    document = {
        "status": 429,
        "code": "quota_exceeded",
        "detail": "The quota is used up.",
        "remedy": "Wait for tomorrow.",
    }
    service.on(SUBMISSIONS, Answer(429, document))
    ran = run("submit", "irony", "-f", predictions, "--url", service.url)
    assert (ran.status, ran.out) == (1, "")
    assert "The quota is used up." in ran.err
    assert "Wait for tomorrow." in ran.err
    as_json = run("submit", "irony", "-f", predictions, "--url", service.url, "--json")
    assert (as_json.status, as_json.value()) == (1, document)


def test_a_dry_run_reports_valid_files_and_invalid_ones(service: Service, predictions: Path) -> None:
    good = {"valid": True, "total": {}, "problems": []}
    bad = {
        "valid": False,
        "total": {"syntax": 1},
        "problems": [{"code": "syntax", "line": 2, "column": 7, "message": "m"}],
    }
    service.on(SUBMISSIONS, Answer(200, good), Answer(200, bad))
    first = run("validate", "irony", "-f", predictions, "--url", service.url)
    assert (first.status, first.out) == (0, "mine.json is valid.\n")
    second = run("validate", "irony", "-f", predictions, "--url", service.url)
    assert second.status == 1
    assert "line 2, column 7" in second.err
    third = run("validate", "irony", "-f", predictions, "--url", service.url, "--json")
    assert (third.status, third.value()) == (1, bad)
    assert all(request.query["dry_run"] == ["true"] for request in service.asked)


def test_the_board_shows_ranks_names_and_values_and_no_control_characters(service: Service) -> None:
    service.on("GET /api/v1/challenges/irony", Answer(200, CHALLENGE))
    service.on("GET /api/v1/challenges/irony/phases/main/leaderboard", Answer(200, BOARD))
    ran = run("leaderboard", "irony", "--url", service.url)
    assert ran.status == 0
    assert "Alpha\\x1b[2J" in ran.out
    assert "\x1b" not in ran.out
    assert "0.75" in ran.out
    assert "baseline" in ran.out
    assert run("leaderboard", "irony", "--url", service.url, "--json").value() == BOARD


def test_the_board_as_csv_is_what_the_service_sends(service: Service) -> None:
    service.on("GET /api/v1/challenges/irony/phases/main/leaderboard", Answer(200, "rank,team\n1,Alpha\n"))
    ran = run("leaderboard", "irony", "--phase", "main", "--csv", "--metric", "f1", "--url", service.url)
    assert ran.out == "rank,team\n1,Alpha\n"
    assert service.asked[0].query == {"format": ["csv"], "metric": ["f1"]}


def test_challenges_are_listed_and_shown(service: Service) -> None:
    service.on("GET /api/v1/challenges", Answer(200, {"items": [CHALLENGE], "next": None}))
    service.on("GET /api/v1/challenges/irony", Answer(200, CHALLENGE))
    assert "Irony" in run("challenge", "list", "--url", service.url).out
    assert run("challenge", "list", "--url", service.url, "--json").value() == [CHALLENGE]
    shown = run("challenge", "show", "irony", "--url", service.url).out
    assert "metrics: f1, accuracy" in shown
    assert run("challenge", "show", "irony", "--url", service.url, "--json").value() == CHALLENGE


def test_a_challenge_is_created_from_yaml(service: Service, tmp_path: Path) -> None:
    path = tmp_path / "challenge.yaml"
    path.write_text("slug: irony\nclasses: [yes, no, 010, 2026-01-01]\nphases: [{name: main, opens_at: 2026-01-01}]\n")
    service.on("POST /api/v1/challenges", Answer(201, CHALLENGE))
    assert run("challenge", "create", "-f", path, "--url", service.url, "--json").value() == CHALLENGE
    assert json.loads(service.asked[0].body) == {
        "slug": "irony",
        "classes": ["yes", "no", "010", "2026-01-01"],
        "phases": [{"name": "main", "opens_at": "2026-01-01"}],
    }


@pytest.mark.parametrize("text", ["a: [", "a: 1\na: 2", "- a", "\t", "a: !!python/name:os.system"])
def test_a_bad_description_is_refused_before_anything_is_sent(service: Service, tmp_path: Path, text: str) -> None:
    path = tmp_path / "challenge.yaml"
    path.write_text(text)
    ran = run("challenge", "create", "-f", path, "--url", service.url, "--json")
    assert (ran.status, service.asked) == (1, [])
    assert str(path) in ran.value()["detail"]


def test_gold_goes_up_and_is_activated_at_once_unless_a_draft_is_wanted(service: Service, predictions: Path) -> None:
    route = "POST /api/v1/challenges/irony/phases/main/gold"
    service.on(route, Answer(201, {"version": 1, "status": "active"}))
    assert run("gold", "upload", "irony", "-f", predictions, "--phase", "main", "--url", service.url).status == 0
    run("gold", "upload", "irony", "-f", predictions, "--phase", "main", "--draft", "--url", service.url)
    assert [request.query["activate"] for request in service.asked] == [["true"], ["false"]]


def test_tables_go_to_the_draft_before_it_is_activated(service: Service, predictions: Path, tmp_path: Path) -> None:
    base = "/api/v1/challenges/irony/phases/main/gold"
    counts = tmp_path / "counts.json"
    counts.write_text('{"a": 3}')
    service.on(f"POST {base}", Answer(201, {"version": 7, "status": "draft"}))
    service.on(f"PUT {base}/7/train-frequencies", Answer(200, {"version": 7, "status": "draft"}))
    service.on(f"POST {base}/7/activate", Answer(201, {"version": 7, "status": "active"}))
    words = ("gold", "upload", "irony", "-f", predictions, "--phase", "main", "--train-frequencies", counts)
    assert run(*words, "--url", service.url, "--json").value() == {"version": 7, "status": "active"}
    assert [request.method for request in service.asked] == ["POST", "PUT", "POST"]
    assert service.asked[0].query["activate"] == ["false"]
    assert json.loads(service.asked[1].body) == {"a": 3}


def test_registering_founds_or_joins(service: Service) -> None:
    service.on(
        "POST /api/v1/challenges/irony/registrations",
        Answer(201, {"status": "approved", "team": {"name": "Alpha"}}),
    )
    assert "Alpha" in run("register", "irony", "--team", "Alpha", "--url", service.url).out
    run("register", "irony", "--invitation", "code", "--url", service.url)
    assert [json.loads(request.body) for request in service.asked] == [{"team": "Alpha"}, {"invitation": "code"}]


def test_choosing_and_taking_it_back_are_posts(service: Service) -> None:
    service.on("POST /api/v1/submissions/s1/select", Answer(200, {"id": "s1", "selected": True}))
    service.on("POST /api/v1/submissions/s1/unselect", Answer(200, {"id": "s1", "selected": False}))
    assert run("select", "s1", "--url", service.url).status == 0
    assert run("unselect", "s1", "--url", service.url, "--json").value() == {"id": "s1", "selected": False}


def test_submissions_are_listed_with_their_scores(service: Service) -> None:
    service.on(
        "GET /api/v1/challenges/irony/phases/main/submissions",
        Answer(200, {"items": [finished("finished"), finished("queued")], "next": None}),
    )
    ran = run("submissions", "irony", "--phase", "main", "--url", service.url)
    assert "0.75" in ran.out
    assert "queued" in ran.out
    assert len(run("submissions", "irony", "--phase", "main", "--url", service.url, "--json").value()) == 2


def test_one_submission_is_shown_whatever_its_status(service: Service) -> None:
    service.on("GET /api/v1/submissions/s1", Answer(200, finished("rejected")))
    assert run("submission", "s1", "--url", service.url).status == 0
    assert run("submission", "s1", "--url", service.url, "--json").value() == finished("rejected")


# ---- logging in


def test_logging_in_keeps_a_token_that_only_its_owner_can_read(service: Service) -> None:
    service.on("POST /api/v1/tokens", Answer(201, {"id": "k1", "token": "assay_k1.secret"}))
    service.on("GET /api/v1/me", Answer(200, {"id": "u1", "name": "Ada"}))
    ran = run("login", "--url", service.url, stdin="ada@example.org\na long password\n")
    assert ran.status == 0
    assert "secret" not in ran.out + ran.err
    assert json.loads(service.asked[0].body) == {"email": "ada@example.org", "password": "a long password"}
    assert stat.S_IMODE(credentials_path().stat().st_mode) == 0o600
    assert resolve(None, None) == (service.url, "assay_k1.secret")
    assert [path.name for path in credentials_path().parent.iterdir()] == ["credentials"]


def test_a_token_from_standard_input_is_tried_and_kept(service: Service) -> None:
    service.on("GET /api/v1/me", Answer(200, {"id": "u1", "email": "ada@example.org"}))
    ran = run("login", "--token", "-", "--url", service.url, "--json", stdin="assay_k2.secret\n")
    assert ran.value()["user"]["id"] == "u1"
    assert service.asked[0].headers["authorization"] == "Bearer assay_k2.secret"
    assert resolve(service.url, None) == (service.url, "assay_k2.secret")


def test_a_token_that_is_not_accepted_is_not_kept(service: Service) -> None:
    service.on("GET /api/v1/me", Answer(401, {"code": "unauthorized", "detail": "no"}))
    assert run("login", "--token", "-", "--url", service.url, stdin="x\n").status == 1
    assert not credentials_path().exists()


def test_a_kept_token_goes_to_its_own_service_only(service: Service) -> None:
    remember("http://elsewhere.example", "theirs")
    service.on("GET /api/v1/submissions/s1", Answer(200, finished("finished")))
    run("submission", "s1", "--url", service.url)
    assert "authorization" not in service.asked[0].headers


def test_several_logins_are_kept_and_the_last_is_the_default() -> None:
    remember("http://one.example/", "t1")
    remember("http://two.example/api/v1", "t2")
    assert resolve(None, None) == ("http://two.example", "t2")
    assert resolve("http://one.example", None) == ("http://one.example", "t1")


def test_environment_goes_before_the_file_and_options_before_both(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember("http://elsewhere.example", "kept")
    monkeypatch.setenv("ASSAY_URL", service.url)
    monkeypatch.setenv("ASSAY_TOKEN", "from-environment")
    service.on("GET /api/v1/submissions/s1", Answer(200, finished("finished")))
    run("submission", "s1")
    run("submission", "s1", "--token", "from-option")
    sent = [request.headers["authorization"] for request in service.asked]
    assert sent == ["Bearer from-environment", "Bearer from-option"]


def test_a_file_that_others_can_read_is_warned_about(service: Service) -> None:
    service.on("GET /api/v1/submissions/s1", Answer(200, finished("finished")))
    remember(service.url, "kept")
    assert "chmod 600" not in run("submission", "s1").err
    credentials_path().chmod(0o644)
    assert "chmod 600" in run("submission", "s1").err


@pytest.mark.parametrize("text", ["{", "[]", '{"tokens": []}'])
def test_a_broken_credentials_file_is_explained(text: str) -> None:
    credentials_path().parent.mkdir(parents=True)
    credentials_path().write_text(text)
    with pytest.raises(Refused, match="assay login"):
        resolve(None, None)
    assert run("submission", "s1").status == 1


def test_a_relative_configuration_folder_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    assert credentials_path() == Path.home() / ".config" / "assay" / "credentials"
