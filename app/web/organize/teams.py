"""Teams: who is in them, and what organizers can do with them."""

from fastapi import Query
from starlette.responses import Response

from app.actions.access import load_team
from app.actions.teams.read_teams import view_teams
from app.api.dependencies import current_organizer
from app.api.quotas import get_quota
from app.api.reasons import OptionalReason, Reason
from app.api.team_disqualifications import post_team_disqualify, post_team_reinstate
from app.api.teams import (
    NewTeamInvitation,
    NewTeamInvitationShape,
    TeamEdit,
    delete_member,
    delete_team_invitation,
    get_teams,
    patch_team,
    post_team_invitation,
    team_details,
)
from app.web.forms import Form, attempt, whole_number
from app.web.notices import Notice, notice
from app.web.organize.frame import organizer_frame
from app.web.page import FormDep, PageContext, PageDep, page_router, redirect
from app.web.rendering import NO_FORM, render

router = page_router()

ROWS = 50
MAX_QUOTAS = 20
CHANGED = notice("desk-team-changed", "The team was changed.")
REMOVED = notice("desk-member-removed", "The member was removed from the team.")
REVOKED = notice("desk-team-invitation-revoked", "The invitation was revoked.")
DISQUALIFIED = notice("desk-team-disqualified", "The team is disqualified. Boards show its entry without a rank.")
REINSTATED = notice("desk-team-reinstated", "The team is back in the ranking.")
TEAM = "/challenges/{slug}/organize/teams/{team_id}"


@router.get("/challenges/{slug}/organize/teams")
def get_list(slug: str, page: PageDep, cursor: str | None = Query(None, max_length=200)) -> Response:
    """The teams, newest first."""
    frame = organizer_frame(page, slug)
    rows = get_teams(slug, page.account, page.state, limit=ROWS, cursor=cursor)
    return render(page, "organize/teams.html", frame=frame, rows=rows.items, following=rows.next)


@router.get(TEAM)
def get_one(slug: str, team_id: str, page: PageDep) -> Response:
    """One team with its members and its quota."""
    return show_team(page, slug, team_id)


def show_team(
    page: PageContext,
    slug: str,
    team_id: str,
    form: Form = NO_FORM,
    status: int = 200,
    fresh: NewTeamInvitationShape | None = None,
) -> Response:
    """The page of a team, with a form that was refused, or with an invitation that was just made."""
    frame = organizer_frame(page, slug)
    with page.state.db.read() as session:
        found = load_team(session, page.account, slug, team_id)
        team = team_details(view_teams(session, [found.team])[0], page.account.user_id, organizer=True)
    quotas = {}
    if not team.baseline:
        phases = frame.challenge.phases[:MAX_QUOTAS]
        quotas = {each.slug: get_quota(slug, each.slug, page.account, page.state, team=team.id) for each in phases}
    return render(
        page,
        "organize/team.html",
        status=status,
        form=form,
        frame=frame,
        team=team,
        quotas=quotas,
        fresh=fresh,
    )


@router.post(TEAM + "/edit")
def post_edit(slug: str, team_id: str, page: PageDep, form: FormDep) -> Response:
    """Rename a team, or hand over its captaincy."""

    def act() -> Response:
        body = form.body(TeamEdit, name=form.text("name"), captain=form.text("captain"))
        patch_team(slug, team_id, body, page.account.with_reason(form.reason()), page.state)
        return _back(page, slug, team_id, CHANGED)

    return attempt(form, act, lambda refused, status: show_team(page, slug, team_id, refused, status))


@router.post(TEAM + "/remove")
def post_remove(slug: str, team_id: str, page: PageDep, form: FormDep) -> Response:
    """Remove a member."""

    def act() -> Response:
        caller = page.account.with_reason(form.reason())
        delete_member(slug, team_id, form.value("member"), caller, page.state)
        return _back(page, slug, team_id, REMOVED)

    return attempt(form, act, lambda refused, status: show_team(page, slug, team_id, refused, status))


@router.post(TEAM + "/invite")
def post_invite(slug: str, team_id: str, page: PageDep, form: FormDep) -> Response:
    """Make an invitation; its code stands in the reply alone."""

    def act() -> Response:
        body = form.body(NewTeamInvitation, note=form.text("note"), days=whole_number(form.text("days")))
        fresh = post_team_invitation(slug, team_id, body, page.account, page.state)
        return show_team(page, slug, team_id, fresh=fresh)

    return attempt(form, act, lambda refused, status: show_team(page, slug, team_id, refused, status))


@router.post(TEAM + "/revoke")
def post_revoke(slug: str, team_id: str, page: PageDep, form: FormDep) -> Response:
    """Revoke an invitation."""

    def act() -> Response:
        delete_team_invitation(slug, team_id, form.value("invitation"), page.account, page.state)
        return _back(page, slug, team_id, REVOKED)

    return attempt(form, act, lambda refused, status: show_team(page, slug, team_id, refused, status))


@router.post(TEAM + "/disqualify")
def post_disqualify(slug: str, team_id: str, page: PageDep, form: FormDep) -> Response:
    """Take a team out of the ranking."""

    def act() -> Response:
        caller = current_organizer(slug, page.account, page.state)
        body = form.body(Reason, reason=form.text("reason"))
        post_team_disqualify(slug, team_id, caller, page.state, body)
        return _back(page, slug, team_id, DISQUALIFIED)

    return attempt(form, act, lambda refused, status: show_team(page, slug, team_id, refused, status))


@router.post(TEAM + "/reinstate")
def post_reinstate(slug: str, team_id: str, page: PageDep, form: FormDep) -> Response:
    """Put a team back into the ranking."""

    def act() -> Response:
        caller = current_organizer(slug, page.account, page.state)
        body = form.body(OptionalReason, reason=form.text("reason"))
        post_team_reinstate(slug, team_id, caller, page.state, body)
        return _back(page, slug, team_id, REINSTATED)

    return attempt(form, act, lambda refused, status: show_team(page, slug, team_id, refused, status))


def _back(page: PageContext, slug: str, team_id: str, done: Notice) -> Response:
    return redirect(page, f"/challenges/{slug}/organize/teams/{team_id}", done=done)
