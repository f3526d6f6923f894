"""`assay submission` of a rejected file: its lines beside its problems, for whom reading them is not recorded."""

import pytest

from tests.cli.run_command import run_assay
from tests.cli.scripted_server import ScriptedAnswer, ScriptedServer
from tests.cli.test_service_commands import finished

PROBLEMS = "GET /api/v1/submissions/s1/problems"


@pytest.mark.parametrize(("splits", "options", "reads"), [(None, [], True), ({}, [], False), ({}, ["--lines"], True)])
def test_the_lines_of_a_rejected_file_are_shown_to_its_team_and_to_organizers_who_ask(
    service: ScriptedServer, splits: object, options: list[str], *, reads: bool
) -> None:
    problems = [problem | {"excerpt": '"t1": "a\x1b"'} for problem in finished("rejected")["problems"]]  # type: ignore[attr-defined]
    service.on("GET /api/v1/submissions/s1", ScriptedAnswer(200, finished("rejected") | {"splits": splits}))
    service.on(PROBLEMS, ScriptedAnswer(200, {"submission": "s1", "total": {"unknown_id": 1}, "problems": problems}))
    ran = run_assay("submission", "s1", *options, "--url", service.url)
    assert ('"t1": "a\\x1b"' in ran.out) == reads
    shown = run_assay("submission", "s1", *options, "--url", service.url, "--json").value()
    assert shown["problems"] == (problems if reads else finished("rejected")["problems"])
    assert any(request.path.endswith("/problems") for request in service.requests) == reads


def test_problems_are_shown_without_their_lines_if_the_service_cannot_read_them(service: ScriptedServer) -> None:
    service.on("GET /api/v1/submissions/s1", ScriptedAnswer(200, finished("rejected") | {"splits": None}))
    service.on(PROBLEMS, ScriptedAnswer(404, {"code": "not_found", "detail": "There is no such file."}))
    ran = run_assay("submission", "s1", "--url", service.url)
    assert (ran.status, "Take the template's ids." in ran.out) == (0, True)
    assert "There is no such file." in ran.err
