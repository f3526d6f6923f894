"""Commands that cancel, withdraw, disqualify and reinstate submissions or teams, and delete test entries."""

from typing import TYPE_CHECKING, Annotated

import typer

from app.cli import completion
from app.cli.connection import connect_client
from app.cli.options import AsJson, Slug, SubmissionId, Token, Url
from app.cli.team import find_by_id_or_name
from app.cli.terminal.output import CommandError, command_output

if TYPE_CHECKING:
    from app.client import Client, Json

_Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="The reason, for the team and organizers.")]
_OptionalReason = Annotated[
    str | None, typer.Option("--reason", metavar="TEXT", help="The reason, for the team and organizers.")
]
_Team = Annotated[str, typer.Argument(metavar="TEAM", help="Name or id of the team.", autocompletion=completion.teams)]


def cancel(
    submission_id: SubmissionId,
    reason: _OptionalReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Cancel a queued submission.

    Its share of the quota is returned, but it counts as one of the day's invalid files.
    Only organizers can cancel a submission that is being scored, or whose phase has closed.
    """
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        result = client.cancel(submission_id, reason)
        out.result(result, lambda _: out.say(f"Cancelled submission {submission_id}."))


def withdraw(
    submission_id: SubmissionId,
    reason: _OptionalReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Withdraw a submission from the ranking.

    The leaderboard shows it as withdrawn. It remains an attempt, and the quota is not refunded.
    Only organizers can undo this, or withdraw a submission whose phase has closed.
    """
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        result = client.withdraw(submission_id, reason)
        out.result(result, lambda _: out.say(f"Submission {submission_id} is withdrawn."))


def disqualify(
    submission_id: SubmissionId, reason: _Reason, url: Url = None, token: Token = None, as_json: AsJson = False
) -> None:
    """Disqualify a submission; 'assay team disqualify' disqualifies a team.

    The leaderboard shows it as disqualified, and the team's next entry counts.
    """
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        result = client.disqualify(submission_id, reason)
        out.result(result, lambda _: out.say(f"Submission {submission_id} is disqualified."))


def reinstate(
    submission_id: SubmissionId,
    reason: _OptionalReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Undo the withdrawal and the disqualification of a submission."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        result = client.reinstate(submission_id, reason)
        out.result(result, lambda _: out.say(f"Submission {submission_id} takes part in the ranking."))


def delete_test_entry(
    submission_id: SubmissionId, url: Url = None, token: Token = None, as_json: AsJson = False
) -> None:
    """Delete a test entry, as an organizer; other submissions can be withdrawn or disqualified."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        client.delete_test_entry(submission_id)
        deleted = {"id": submission_id, "deleted": True}
        out.result(deleted, lambda _: out.say(f"Test entry {submission_id} is deleted."))


def disqualify_team(
    *, slug: Slug, team: _Team, reason: _Reason, url: Url = None, token: Token = None, as_json: AsJson = False
) -> None:
    """Disqualify a team in all phases of a challenge.

    The leaderboards show it as disqualified, and its members cannot submit for it.
    """
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        result = client.disqualify_team(slug, _team_id(client, slug, team), reason)
        out.result(result, lambda _: out.say(f"Team {result['name']} is disqualified in {slug}."))


def reinstate_team(
    *,
    slug: Slug,
    team: _Team,
    reason: _OptionalReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Undo the disqualification of a team."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        result = client.reinstate_team(slug, _team_id(client, slug, team), reason)
        out.result(result, lambda _: out.say(f"Team {result['name']} takes part in the rankings of {slug}."))


def _team_id(client: "Client", slug: str, team: str) -> str:
    """The id of the team with this name or id; a baseline is never meant."""
    known: list[Json] = [row for row in client.teams(slug) if not row["baseline"]]
    found = find_by_id_or_name(known, team)
    if found is None:
        detail = f"The challenge '{slug}' has no team '{team}'."
        raise CommandError("no_such_team", detail, "Give the name as the leaderboard shows it, or the id of the team.")
    return str(found["id"])
