"""Commands that cancel, withdraw, disqualify and reinstate submissions or teams, and delete test entries."""

from app.cli.connection import connect_client
from app.cli.options import AsJson, AuditReason, OptionalReason, Reason, Slug, SubmissionId, TeamName, Token, Url
from app.cli.team import find_team
from app.cli.terminal.output import command_output


def cancel(
    submission_id: SubmissionId,
    reason: OptionalReason = None,
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
    reason: OptionalReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Withdraw a submission from the ranking.

    The leaderboard shows it as withdrawn. It still counts as an entry, and the quota is not refunded.
    Only organizers can undo this, or withdraw a submission whose phase has closed.
    """
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        result = client.withdraw(submission_id, reason)
        out.result(result, lambda _: out.say(f"Submission {submission_id} is withdrawn."))


def disqualify(
    submission_id: SubmissionId, reason: Reason, url: Url = None, token: Token = None, as_json: AsJson = False
) -> None:
    """Disqualify a submission; 'assay team disqualify' disqualifies a team.

    The leaderboard shows it as disqualified, and the team's next entry counts.
    """
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        result = client.disqualify(submission_id, reason)
        out.result(result, lambda _: out.say(f"Submission {submission_id} is disqualified."))


def reinstate(
    submission_id: SubmissionId,
    reason: AuditReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Undo the withdrawal and the disqualification of a submission."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        result = client.reinstate(submission_id, reason)
        out.result(result, lambda _: out.say(f"Submission {submission_id} takes part in the ranking."))


def delete_test_entry(
    submission_id: SubmissionId,
    reason: AuditReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Delete a test entry, as an organizer; other submissions can be withdrawn or disqualified."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        client.delete_test_entry(submission_id, reason=reason)
        out.done("deleted", submission_id, f"The test entry {submission_id} is deleted.")


def disqualify_team(
    *, slug: Slug, team: TeamName, reason: Reason, url: Url = None, token: Token = None, as_json: AsJson = False
) -> None:
    """Disqualify a team in all phases of a challenge.

    The leaderboards show it as disqualified, and its members cannot submit for it.
    """
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        result = client.disqualify_team(slug, find_team(client, slug, team)["id"], reason)
        out.result(result, lambda _: out.say(f"Team {result['name']} is disqualified in {slug}."))


def reinstate_team(
    *,
    slug: Slug,
    team: TeamName,
    reason: AuditReason = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Undo the disqualification of a team."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        result = client.reinstate_team(slug, find_team(client, slug, team)["id"], reason)
        out.result(result, lambda _: out.say(f"Team {result['name']} takes part in the rankings of {slug}."))
