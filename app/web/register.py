"""Take part in a challenge: found a team, or enter with the code of an invitation."""

from typing import Any

from starlette.responses import Response

from app import errors
from app.actions import access
from app.actions.invitations.challenge_invitations import read_challenge_with_code
from app.api.registration_fields import RegistrationField
from app.api.registrations import NewRegistration, RegistrationShape, post_registration
from app.store.session import ReadSession
from app.web.challenge_frame import ChallengeFrame, read_frame
from app.web.forms import FieldFault, Form, attempt, whole_number
from app.web.invitation import held_invitation
from app.web.notices import notice
from app.web.page import INVITATION_COOKIE, FormDep, PageContext, PageDep, page_router, redirect
from app.web.rendering import NO_FORM, render

router = page_router()

ANSWER = "answer-"
ENTERED = notice("entered", "You are in. You can submit a file now.")
PENDING = notice("pending", "Your registration was sent. An organizer decides on it.")
WITHOUT_TEAM = notice("without-team", "You are registered. Found a team, or enter one with its code.")
ALREADY = notice("already-in", "You are already registered for this challenge.")


def answers_of(form: Form, asked: list[RegistrationField]) -> dict[str, str]:
    """The answers that a form gives to what the organizers ask for."""
    return {each.name: form.value(ANSWER + each.name).strip() for each in asked if form.has(ANSWER + each.name)}


def at_answers(form: Form) -> Form:
    """The same form, where each fault of an answer is at its field."""
    for place, fault in enumerate(form.faults):
        head, _, name = fault.name.partition(".")
        if head == "fields" and name:
            detail = "is missing" if fault.detail.startswith("required: ") else fault.detail
            form.faults[place] = fault._replace(name=ANSWER + name, detail=detail)
    return form


def _read(page: PageContext, session: ReadSession, slug: str) -> ChallengeFrame:
    """The frame of the challenge; also for a user who holds a code of its organizers. Raises NotFound and Renamed."""
    try:
        return read_frame(page, session, slug)
    except errors.NotFound:
        # From here on, this unit of work sees the challenge if the code admits to it.
        read_challenge_with_code(session, page.caller, slug, page.invitation)
    frame = read_frame(page, session, slug)
    return ChallengeFrame(frame.challenge, frame.role, frame.registration, frame.team_id, by_code=True)


@router.get("/challenges/{slug}/register")
def show_registration(slug: str, page: PageDep) -> Response:
    """What the challenge asks for, and the form."""
    return _page(page, slug, NO_FORM, 200)


def _page(page: PageContext, slug: str, form: Form, status: int) -> Response:
    held = held_invitation(page)
    with page.state.db.read() as session:
        frame = _read(page, session, slug)
        own = None
        if frame.registration is not None:
            challenge = access.load_visible_challenge(session, page.caller, slug)
            row = access.own_registration(session, page.caller, challenge)
            own = RegistrationShape.model_validate(row)
    code = held if held is not None and held.challenge == frame.challenge.slug else None
    return render(
        page,
        "register.html",
        status=status,
        form=form,
        frame=frame,
        tab="register",
        own=own,
        held=code,
        answer=ANSWER,
        may_enter=_may_enter(frame, has_code=code is not None),
    )


def _may_enter(frame: ChallengeFrame, *, has_code: bool) -> bool:
    """Whether the form is of any use: the page says otherwise why not."""
    if frame.challenge.archived_at is not None or frame.role is not None or frame.registration == "barred":
        return False
    if frame.registration in {"approved", "pending"}:
        return frame.team_id is None
    return has_code or frame.challenge.registration != "invitation"


@router.post("/challenges/{slug}/register")
def post_register(slug: str, page: PageDep, form: FormDep) -> Response:
    """Register with a team that is founded, or with the team or the challenge that the code of this browser admits to."""
    account = page.account

    def act() -> Response:
        with page.state.db.read() as session:
            frame = _read(page, session, slug)
        held = held_invitation(page)
        values: dict[str, Any] = {"team": form.text("team")}
        if form.has("with_code"):
            if held is None or held.challenge != slug:
                raise errors.InvalidInvitation
            values = {"invitation": page.invitation} | ({} if held.kind == "team" else values)
        terms = whole_number(form.text("terms"))
        body = form.body(
            NewRegistration, **values, terms=terms, fields=answers_of(form, frame.challenge.registration_fields)
        )
        try:
            row = post_registration(slug, body, page.request, account, page.state)
        except errors.AlreadyRegistered:
            return redirect(page, f"/challenges/{slug}/team", done=ALREADY)
        if body.invitation is not None:
            page.new_cookies[INVITATION_COOKIE] = None
        return _go_on(page, slug, RegistrationShape.model_validate(row))

    return attempt(form, act, lambda refused, status: _page(page, slug, _worded(refused), status))


def _go_on(page: PageContext, slug: str, own: RegistrationShape) -> Response:
    path = f"/challenges/{slug}"
    if own.status != "approved":
        return redirect(page, f"{path}/team", done=PENDING)
    if own.team is None:
        return redirect(page, f"{path}/register", done=WITHOUT_TEAM)
    return redirect(page, f"{path}/submit", done=ENTERED)


def _worded(form: Form) -> Form:
    """The faults in words for the form, whose fields differ from those of the request body."""
    known = {"": FieldFault("team", "Give the team a name.")} if not form.text("team") else {}
    form.faults = [
        known.get(fault.name, fault) if fault.detail.startswith("give 'team'") else fault for fault in form.faults
    ]
    return at_answers(form)
