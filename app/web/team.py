"""The own team of a challenge: members, captain, name, invitations, and the own registration."""

from collections.abc import Callable

from starlette.responses import Response

from app import errors
from app.actions import access
from app.actions.challenges.team_registration import read_registration
from app.actions.invitations.codes import DEFAULT_DAYS, MAX_DAYS
from app.actions.teams.read_teams import view_teams
from app.api.registrations import (
    Decision,
    DecisionShape,
    RegistrationDetails,
    RegistrationShape,
    delete_registration,
    patch_registration,
)
from app.api.teams import (
    NewTeamInvitation,
    NewTeamInvitationShape,
    TeamDetails,
    TeamEdit,
    delete_member,
    delete_team_invitation,
    patch_team,
    post_team_invitation,
    team_details,
)
from app.store.session import ReadSession
from app.web.challenge_frame import read_frame
from app.web.forms import Form, attempt, whole_number
from app.web.notices import Notice, notice
from app.web.page import FormDep, PageContext, PageDep, page_router, redirect
from app.web.register import ANSWER, answers_of, at_answers
from app.web.rendering import NO_FORM, render

router = page_router()

PATH = "/challenges/{slug}/team"
RENAMED = notice("team-renamed", "The team has another name.")
HANDED_OVER = notice("captaincy", "The team has another captain.")
REVOKED = notice("team-invitation-revoked", "The invitation is revoked. Its code admits nobody.")
REMOVED = notice("member-removed", "The member left the team.")
LEFT = notice("team-left", "You left the team. You can found another one, or enter one with its code.")
STATED = notice("statements", "Your answers are stored.")
ENDED = notice("registration-ended", "You no longer take part in this challenge.")
_HISTORY = {
    "registration.create": "You registered.",
    "registration.approve": "An organizer approved it.",
    "registration.bar": "An organizer barred you.",
    "registration.reset": "An organizer set it back to pending.",
    "registration.may_join": "An organizer permitted you to enter another team.",
    "registration.accept_terms": "You accepted the terms.",
    "registration.answer": "You changed your answers.",
    "registration.end": "You ended it.",
}


@router.get(PATH)
def show_team(slug: str, page: PageDep) -> Response:
    """The team of the person, and their registration."""
    return team_page(page, slug, NO_FORM, 200)


def team_page(
    page: PageContext, slug: str, form: Form, status: int, *, fresh: NewTeamInvitationShape | None = None
) -> Response:
    """The page; `fresh` is an invitation that was just made, whose code it shows once."""
    account = page.account
    with page.state.db.read() as session:
        frame = read_frame(page, session, slug)
        own = _own_registration(page, session, slug)
        team = None if own is None or own.team is None else _team(page, session, slug, own.team.id)
    if own is None:
        return redirect(page, f"/challenges/{slug}/register")
    me = None if team is None else next((each for each in team.members if each.id == account.user_id), None)
    return render(
        page,
        "team.html",
        status=status,
        form=at_answers(form),
        frame=frame,
        tab="team",
        team=team,
        own=own,
        is_captain=me is not None and me.captain and own.status != "barred" and frame.challenge.archived_at is None,
        others=[] if team is None else [each for each in team.members if each.id != account.user_id],
        fresh=fresh,
        link=f"{page.site.origin}/invitation#{fresh.code}" if fresh is not None else None,
        days=DEFAULT_DAYS,
        max_days=MAX_DAYS,
        history=_HISTORY,
        answer=ANSWER,
    )


def _own_registration(page: PageContext, session: ReadSession, slug: str) -> RegistrationDetails | None:
    challenge = access.load_visible_challenge(session, page.caller, slug)
    row = access.own_registration(session, page.caller, challenge)
    if row is None:
        return None
    _, entries, _ = read_registration(session, page.caller, slug, row.id)
    history = [DecisionShape.model_validate(each) for each in entries]
    return RegistrationDetails(**RegistrationShape.model_validate(row).model_dump(), history=history)


def _team(page: PageContext, session: ReadSession, slug: str, team_id: str) -> TeamDetails:
    found = access.load_team(session, page.caller, slug, team_id)
    return team_details(view_teams(session, [found.team])[0], page.caller.user_id, organizer=False)


def own_team_id(page: PageContext, slug: str) -> str:
    """The id of the caller's team; raises NoTeam."""
    with page.state.db.read() as session:
        challenge = access.load_visible_challenge(session, page.account, slug)
        row = access.own_registration(session, page.account, challenge)
        if row is None or row.team_id is None:
            raise errors.NoTeam
        return row.team_id


def act_on_team(page: PageContext, slug: str, form: Form, done: Notice, change: Callable[[str], object]) -> Response:
    """Change the own team, whose id `change` gets, and show the page again."""
    page.account  # noqa: B018 - sends visitors to the log-in page

    def act() -> Response:
        change(own_team_id(page, slug))
        return redirect(page, f"/challenges/{slug}/team", done=done)

    return attempt(form, act, lambda refused, status: team_page(page, slug, refused, status))


@router.post(PATH + "/name")
def post_name(slug: str, page: PageDep, form: FormDep) -> Response:
    """Rename the team."""

    def change(team_id: str) -> None:
        patch_team(slug, team_id, form.body(TeamEdit, name=form.value("name").strip()), page.account, page.state)

    return act_on_team(page, slug, form, RENAMED, change)


@router.post(PATH + "/captain")
def post_captain(slug: str, page: PageDep, form: FormDep) -> Response:
    """Hand over the captaincy."""

    def change(team_id: str) -> None:
        patch_team(slug, team_id, form.body(TeamEdit, captain=form.value("captain")), page.account, page.state)

    return act_on_team(page, slug, form, HANDED_OVER, change)


@router.post(PATH + "/invitations")
def post_invitation(slug: str, page: PageDep, form: FormDep) -> Response:
    """Make an invitation; the reply shows its code once."""
    account = page.account

    def act() -> Response:
        body = form.body(NewTeamInvitation, note=form.text("note"), days=whole_number(form.text("days")))
        fresh = post_team_invitation(slug, own_team_id(page, slug), body, account, page.state)
        return team_page(page, slug, NO_FORM, 201, fresh=fresh)

    return attempt(form, act, lambda refused, status: team_page(page, slug, refused, status))


@router.post(PATH + "/invitations/revoke")
def post_revoke(slug: str, page: PageDep, form: FormDep) -> Response:
    """Revoke an invitation."""

    def change(team_id: str) -> None:
        delete_team_invitation(slug, team_id, form.value("invitation")[:64], page.account, page.state)

    return act_on_team(page, slug, form, REVOKED, change)


@router.post(PATH + "/remove")
def post_remove(slug: str, page: PageDep, form: FormDep) -> Response:
    """Remove another member."""

    def change(team_id: str) -> None:
        member = form.value("member")[:64]
        if member == page.account.user_id:
            raise errors.BadRequest("This is yourself.", remedy="Use the form to leave the team.")
        delete_member(slug, team_id, member, page.account.with_reason(form.reason()), page.state)

    return act_on_team(page, slug, form, REMOVED, change)


@router.post(PATH + "/leave")
def post_leave(slug: str, page: PageDep, form: FormDep) -> Response:
    """Leave the team."""

    def change(team_id: str) -> None:
        delete_member(slug, team_id, page.account.user_id or "", page.account, page.state)

    return act_on_team(page, slug, form, LEFT, change)


@router.post(PATH + "/registration")
def post_statements(slug: str, page: PageDep, form: FormDep) -> Response:
    """Accept the terms as they are now, or change answers."""
    account = page.account

    def act() -> Response:
        with page.state.db.read() as session:
            asked = read_frame(page, session, slug).challenge.registration_fields
            own = _own_registration(page, session, slug)
        if own is None:
            raise errors.NotRegistered
        body = form.body(Decision, terms=whole_number(form.text("terms")), fields=answers_of(form, asked) or None)
        patch_registration(slug, own.id, body, account, page.state)
        return redirect(page, f"/challenges/{slug}/team", done=STATED)

    return attempt(form, act, lambda refused, status: team_page(page, slug, refused, status))


@router.post(PATH + "/end")
def post_end(slug: str, page: PageDep, form: FormDep) -> Response:
    """End the registration, and leave the team."""
    account = page.account

    def act() -> Response:
        with page.state.db.read() as session:
            own = _own_registration(page, session, slug)
        if own is not None:
            delete_registration(slug, own.id, account, page.state)
        return redirect(page, "/account", done=ENDED)

    return attempt(form, act, lambda refused, status: team_page(page, slug, refused, status))
