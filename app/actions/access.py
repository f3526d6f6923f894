"""Authentication and authorization: every 401, 403 and 404 is decided here."""

from dataclasses import dataclass, field

from app import errors
from app.store import locks
from app.store.queries import challenges, teams
from app.store.queries.phase_for_user import PhaseContext
from app.store.session import ReadSession
from app.store.tables import Challenge, Phase, Registration, Submission

SCOPES = ("read", "submit", "organize", "admin")


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of an action: a visitor (no user), or a user with the scopes of the token used."""

    user_id: str | None = None
    email: str = ""
    name: str = ""
    admin: bool = False
    approved: bool = False
    scopes: frozenset[str] = field(default_factory=frozenset)
    token_id: str | None = None

    @property
    def has_admin_rights(self) -> bool:
        """Whether the caller is an administrator, with a token that has the scope `admin`."""
        return self.admin and "admin" in self.scopes


VISITOR = Caller()


def require_scope(caller: Caller, scope: str) -> str:
    """The caller's user id; raises Unauthorized for a visitor, InsufficientScope for a token without the scope."""
    if caller.user_id is None:
        raise errors.Unauthorized
    if scope not in caller.scopes and "admin" not in caller.scopes:
        challenge = {"WWW-Authenticate": f'Bearer error="insufficient_scope", scope="{scope}"'}
        raise errors.InsufficientScope(f"This needs a token with the scope '{scope}'.", headers=challenge)
    return caller.user_id


def require_administrator(caller: Caller, detail: str, *, remedy: str | None = None) -> None:
    """Raise Forbidden with this message unless the caller is an administrator.

    InsufficientScope if only the scope is missing.
    """
    if caller.admin:
        require_scope(caller, "admin")
    if not caller.has_admin_rights:
        raise errors.Forbidden(detail, remedy=remedy)


def can_read(caller: Caller) -> bool:
    """Whether the caller's token allows reading what only members of a challenge may read."""
    return bool(caller.scopes & {"read", "admin"})


def can_read_or_submit(caller: Caller) -> bool:
    """Whether the caller's token allows seeing the challenges that they joined, to read them or to submit."""
    return can_read(caller) or "submit" in caller.scopes


def organizer_role(session: ReadSession, caller: Caller, challenge: Challenge) -> str | None:
    """The caller's role as an organizer, 'owner' for an administrator, None for everybody else."""
    if caller.user_id is None:
        return None
    return "owner" if caller.has_admin_rights else challenges.role_of(session, challenge.id, caller.user_id)


def is_organizer(session: ReadSession, caller: Caller, challenge: Challenge) -> bool:
    """Whether the caller sees the challenge as an organizer; needs the scope as well as the role."""
    return can_organize(caller) and organizer_role(session, caller, challenge) is not None


def can_edit(session: ReadSession, caller: Caller, challenge: Challenge) -> bool:
    """Whether the caller may change the challenge; organizers with the role 'viewer' may only read."""
    return can_organize(caller) and organizer_role(session, caller, challenge) in {"owner", "editor"}


def can_organize(caller: Caller) -> bool:
    """Whether the caller's token allows acting as an organizer."""
    return bool(caller.scopes & {"organize", "admin"})


def load_visible_challenge(session: ReadSession, caller: Caller, slug: str) -> Challenge:
    """The challenge, if the caller may see it.

    Raises the same NotFound for one that does not exist and one that is hidden.
    """
    locks.challenge(session, slug)
    challenge = challenges.by_slug(session, slug)
    if challenge is None:
        raise errors.NotFound
    if is_public(challenge):
        return challenge
    joined = approved_registration(session, caller, challenge) is not None
    if not _can_see_private(caller, challenge, role=organizer_role(session, caller, challenge), joined=joined):
        raise errors.NotFound
    return challenge


def is_public(challenge: Challenge | PhaseContext) -> bool:
    """Whether visitors see the challenge."""
    return challenge.status == "published" and challenge.visibility == "public"


def _can_see_private(caller: Caller, challenge: Challenge | PhaseContext, *, role: str | None, joined: bool) -> bool:
    """Whether the caller may see a challenge that is not public."""
    if can_organize(caller) and role is not None:
        return True
    return challenge.status == "published" and joined and can_read_or_submit(caller)


def load_visible_phase(session: ReadSession, caller: Caller, slug: str, phase_slug: str) -> Phase:
    """The phase of a visible challenge; raises NotFound."""
    challenge = load_visible_challenge(session, caller, slug)
    phase = challenges.phase_by_slug(session, challenge.id, phase_slug)
    if phase is None:
        raise phase_not_found(session, challenge, phase_slug)
    return phase


def phase_not_found(session: ReadSession, challenge: Challenge, phase_slug: str) -> errors.NotFound:
    """The error for a phase that does not exist, in a challenge that the caller may see."""
    known = [phase.slug for phase in challenges.phases_of(session, challenge.id)]
    detail = f"The challenge '{challenge.slug}' has no phase '{phase_slug}'."
    return errors.NotFound(detail, remedy=f"Its phases are: {', '.join(known)}.", known_phases=known)


def require_visible_context(caller: Caller, context: PhaseContext) -> None:
    """Raise NotFound unless the caller may see the phase of this context, which was read for them."""
    if is_public(context):
        return
    joined = context.registration == "approved"
    if not _can_see_private(caller, context, role=effective_role(caller, context.role), joined=joined):
        raise errors.NotFound


def effective_role(caller: Caller, role: str | None) -> str | None:
    """The caller's role as an organizer, given the role of their account, which was read before."""
    return "owner" if caller.has_admin_rights else role


def require_organizer(session: ReadSession, caller: Caller, challenge: Challenge, *, writes: bool = True) -> str:
    """The caller's user id; raises Forbidden unless they organize the challenge, and if a viewer writes.

    Raises InsufficientScope for an administrator whose token lacks the scope `admin`.
    """
    user_id = require_scope(caller, "organize")
    role = organizer_role(session, caller, challenge)
    if role is None:
        require_administrator(caller, "Only organizers of this challenge may do this.")
    if writes and role == "viewer":
        require_administrator(caller, "Organizers with the role 'viewer' may only read.")
    return user_id


def load_organized_challenge(session: ReadSession, caller: Caller, slug: str, *, writes: bool = True) -> Challenge:
    """The challenge, for its organizers; raises NotFound and what require_organizer raises."""
    challenge = load_visible_challenge(session, caller, slug)
    require_organizer(session, caller, challenge, writes=writes)
    return challenge


def load_organized_phase(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, *, writes: bool = True
) -> Phase:
    """The phase, for the organizers of its challenge; raises NotFound and what require_organizer raises."""
    phase = load_visible_phase(session, caller, slug, phase_slug)
    require_organizer(session, caller, phase.challenge, writes=writes)
    return phase


def require_owner(session: ReadSession, caller: Caller, challenge: Challenge) -> str:
    """The caller's user id; raises Forbidden unless they own the challenge, InsufficientScope as require_organizer."""
    user_id = require_scope(caller, "organize")
    if organizer_role(session, caller, challenge) != "owner":
        require_administrator(caller, "Only an owner of this challenge may do this.")
    return user_id


def approved_registration(session: ReadSession, caller: Caller, challenge: Challenge) -> Registration | None:
    """The caller's approved registration, if there is one."""
    if caller.user_id is None:
        return None
    registration = teams.registration_of(session, challenge.id, caller.user_id)
    return registration if registration is not None and registration.status == "approved" else None


def require_approved_registration(session: ReadSession, caller: Caller, challenge: Challenge) -> Registration:
    """The caller's approved registration; raises NotRegistered, RegistrationPending or RegistrationBarred."""
    user_id = require_scope(caller, "submit")
    registration = teams.registration_of(session, challenge.id, user_id)
    if registration is None:
        raise errors.NotRegistered
    require_approved_status(registration.status, registration.reason)
    return registration


def require_approved_status(status: str | None, reason: str | None) -> None:
    """Raise NotRegistered, RegistrationPending or RegistrationBarred unless a registration has been approved."""
    if status is None:
        raise errors.NotRegistered
    if status == "pending":
        raise errors.RegistrationPending
    if status == "barred":
        raise errors.RegistrationBarred(reason=reason)


def load_visible_submission(session: ReadSession, caller: Caller, submission_id: str) -> tuple[Submission, Phase, bool]:
    """A submission, its phase, and whether the caller sees it as an organizer.

    Raises NotFound if they may not see it.
    """
    submission = session.get(Submission, submission_id)
    if submission is None or caller.user_id is None:
        raise errors.NotFound
    phase = session.get_one(Phase, submission.phase_id)
    role = organizer_role(session, caller, phase.challenge)
    registration = teams.registration_of(session, phase.challenge_id, caller.user_id)
    own = registration is not None and registration.team_id == submission.team_id and registration.status != "pending"
    return submission, phase, can_read_as_organizer(caller, role, own=own)


def can_read_as_organizer(caller: Caller, role: str | None, *, own: bool) -> bool:
    """True if the caller reads a submission as an organizer, False as a member of its team.

    Raises NotFound for all others.
    """
    if can_organize(caller) and role is not None:
        return True
    if not own:
        raise errors.NotFound
    return False
