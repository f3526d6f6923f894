"""The submissions of the reader's own team in a challenge, the quota with its ledger, and the choice of finals."""

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from app import errors
from app.actions.submissions.counting_submission import read_counting_submission
from app.actions.submissions.describe_metrics import primary_metric
from app.actions.submissions.read_submissions import SubmissionFilter
from app.api.phases import PhaseShape
from app.api.quotas import QuotaShape, get_quota
from app.api.submissions import SubmissionShape, get_submissions, submission_shape
from app.scoring.declaration.metric_parser import parse_metric
from app.web.challenge_frame import ChallengeFrame, challenge_frame
from app.web.page import PageContext, PageDep, page_router, redirect
from app.web.rendering import render

router = page_router()

ROWS = 100
MAX_SELECTED = 200
"""How many selected submissions are listed; a rule without a maximum lets a team select more."""


@router.get("/challenges/{slug}/submissions")
def show_submissions(
    slug: str,
    page: PageDep,
    phase: Annotated[str | None, Query(max_length=200)] = None,
    cursor: Annotated[str | None, Query(max_length=1000)] = None,
) -> Response:
    """One phase's submissions of the team, newest first. Organizers without a team have a page of their own."""
    _ = page.account
    frame = challenge_frame(page, slug)
    if frame.role is not None and frame.team_id is None:
        return redirect(page, f"/challenges/{slug}/organize/submissions")
    chosen = _phase(frame, phase)
    if chosen is None:
        return render(page, "submissions.html", frame=frame, phase=None)
    own = SubmissionFilter() if frame.role is None else SubmissionFilter(team=frame.team_id)
    listed = get_submissions(slug, chosen.slug, page.account, page.state, own, limit=ROWS, cursor=cursor)
    with page.state.db.read() as session:
        metric = primary_metric(session, page.account, slug, chosen.slug)
    # An organizer who competes may read the submissions of all teams, but this page is about the own team.
    rows = [row for row in listed.items if frame.role is None or row.team.id == frame.team_id]
    rule = rows[0].selection if rows else None  # that of the phase, which may have a recipe of its own
    has_choice = rule is not None and rule.rule == "selected"
    selected, has_more = _selected(page, frame, chosen) if has_choice else ([], False)
    return render(
        page,
        "submissions.html",
        frame=frame,
        phase=chosen,
        phases=frame.challenge.phases,
        rows=rows,
        following=listed.next,
        quota=_quota(page, frame, chosen),
        metric=metric,
        metric_name=parse_metric(metric).metric.name if metric else "Score",
        rule=rule,
        selected=selected,
        counting=_counting(page, frame, chosen),
        choice_hidden=any(row.team.id == frame.team_id and row.counts is None for row in rows),
        has_more_selected=has_more,
    )


def _phase(frame: ChallengeFrame, slug: str | None) -> PhaseShape | None:
    phases = frame.challenge.phases
    found = next((one for one in phases if one.slug == slug), None)
    if slug is not None and found is None:
        raise errors.NotFound
    return found or next((one for one in phases if one.open), phases[-1] if phases else None)


def _selected(page: PageContext, frame: ChallengeFrame, phase: PhaseShape) -> tuple[list[SubmissionShape], bool]:
    """The selected submissions of the team, also those of other pages of the list, and whether there are more."""
    wanted = SubmissionFilter(mark="selected", team=frame.team_id)
    slug, limit = frame.challenge.slug, MAX_SELECTED
    listed = get_submissions(slug, phase.slug, page.account, page.state, wanted, limit=limit)
    return [row for row in listed.items if row.team.id == frame.team_id], listed.next is not None


def _counting(page: PageContext, frame: ChallengeFrame, phase: PhaseShape) -> SubmissionShape | None:
    """The submission that counts now, also if another page of the list has it."""
    with page.state.db.read() as session:
        try:
            view = read_counting_submission(session, page.account, frame.challenge.slug, phase.slug)
        except (errors.NoTeam, errors.NotRegistered):  # a former member, who still reads what was sent then
            return None
        return None if view is None else submission_shape(view)


def _quota(page: PageContext, frame: ChallengeFrame, phase: PhaseShape) -> QuotaShape | None:
    try:
        return get_quota(frame.challenge.slug, phase.slug, page.account, page.state)
    except (errors.NoTeam, errors.NotRegistered):  # a former member, who still reads what was sent then
        return None
