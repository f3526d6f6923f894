"""Authentication and authorization: most of the 401, 403 and 404 are decided here."""

from dataclasses import dataclass, field, replace
from datetime import datetime

from sqlalchemy import Select

from app import errors
from app.store import clock, locks
from app.store.queries import challenges, invitations, teams
from app.store.queries.phase_for_user import PhaseContext
from app.store.session import ReadSession
from app.store.tables import Challenge, Phase, Registration, Team
from app.store.types import format_timestamp

SCOPES = ("read", "submit", "organize", "admin")
_INVITED = "invited"
"""The key in a session's info of the challenge to which the caller holds the code of an invitation."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of an action: a visitor (no user), or a user with the scopes of the token used.

    `reason` is why they act, if they said so: the audit trail keeps it with every act of the request.
    """

    user_id: str | None = None
    email: str = ""
    name: str = ""
    admin: bool = False
    approved: bool = False
    scopes: frozenset[str] = field(default_factory=frozenset)
    token_id: str | None = None
    reason: str | None = None

    @property
    def has_admin_rights(self) -> bool:
        """Whether the caller is an administrator, with a token that has the scope `admin`."""
        return self.admin and "admin" in self.scopes

    def with_reason(self, reason: str | None) -> "Caller":
        """The same caller, who acts for this reason."""
        return replace(self, reason=reason)


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

    Unauthorized for a visitor, InsufficientScope if only the scope is missing.
    """
    if caller.user_id is None:
        raise errors.Unauthorized
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


def can_organize(caller: Caller) -> bool:
    """Whether the caller's token allows acting as an organizer."""
    return bool(caller.scopes & {"organize", "admin"})


def visible_challenges(caller: Caller) -> Select[Challenge]:
    """The challenges that lists show the caller, as far as the scopes of the token reach."""
    roles = {"organizes": can_organize(caller), "joins": can_read_or_submit(caller)}
    return challenges.visible_to(caller.user_id, admin=caller.has_admin_rights, **roles)


def load_visible_challenge(session: ReadSession, caller: Caller, slug: str) -> Challenge:
    """The challenge, if the caller may see it.

    Raises the same NotFound for one that does not exist and one that is hidden, and Renamed for a former slug of one
    that they may see.
    """
    locks.challenge(session, slug)
    challenge = challenges.by_slug(session, slug) or challenges.by_former_slug(session, slug)
    if challenge is None or not _can_see(session, caller, challenge):
        raise errors.NotFound
    return _require_current_slug(challenge, slug)


def _can_see(session: ReadSession, caller: Caller, challenge: Challenge) -> bool:
    if is_public(challenge) or session.info.get(_INVITED) == challenge.id:
        return True
    joined = approved_registration(session, caller, challenge) is not None
    return _can_see_private(caller, challenge, role=organizer_role(session, caller, challenge), joined=joined)


def _require_current_slug(challenge: Challenge, slug: str) -> Challenge:
    if challenge.slug != slug:
        raise errors.Renamed(challenge=challenge.slug)
    return challenge


def load_challenge_with_code(session: ReadSession, caller: Caller, slug: str, *, code_hash: str | None) -> Challenge:
    """The challenge, if the caller may see it or holds the code of an invitation to it, whose hash this is.

    With a valid code, the rest of this unit of work sees the challenge too. Raises the same NotFound for one that does
    not exist and one that is hidden, as for a code that is not valid there, and Renamed for a former slug.
    """
    locks.challenge(session, slug)
    challenge = challenges.by_slug(session, slug) or challenges.by_former_slug(session, slug)
    if challenge is not None and challenge.status == "published" and code_hash is not None:
        valid = invitations.admits(session, code_hash, challenge.id, clock.steady(session))
        session.info[_INVITED] = challenge.id if valid else None
    return load_visible_challenge(session, caller, slug)


def is_public(challenge: Challenge | PhaseContext) -> bool:
    """Whether visitors see the challenge."""
    return challenge.status == "published" and challenge.visibility == "public"


def _can_see_private(caller: Caller, challenge: Challenge | PhaseContext, *, role: str | None, joined: bool) -> bool:
    """Whether the caller may see a challenge that is not public."""
    if can_organize(caller) and role is not None:
        return True
    return challenge.status == "published" and joined and can_read_or_submit(caller)


def load_visible_phase(session: ReadSession, caller: Caller, slug: str, phase_slug: str) -> Phase:
    """The phase of a visible challenge; raises NotFound, and Renamed for a former slug."""
    challenge = load_visible_challenge(session, caller, slug)
    phase = challenges.phase_by_slug(session, challenge.id, phase_slug)
    if phase is None:
        raise phase_not_found(session, challenge, phase_slug)
    return phase


def phase_not_found(session: ReadSession, challenge: Challenge, phase_slug: str) -> errors.AssayError:
    """The error for a phase without this slug, in a challenge that the caller may see: Renamed if one had it before."""
    renamed = challenges.phase_by_former_slug(session, challenge.id, phase_slug)
    if renamed is not None:
        return errors.Renamed(phase=renamed.slug)
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


def require_not_archived(challenge: Challenge | PhaseContext) -> None:
    """Raise ChallengeArchived for a challenge that is read-only.

    The functions of this module that give the right to change something in a challenge call it.
    """
    if challenge.archived_at is not None:
        raise errors.ChallengeArchived(archived_at=format_timestamp(challenge.archived_at))


def require_organizer(session: ReadSession, caller: Caller, challenge: Challenge, *, writes: bool = True) -> str:
    """The caller's user id; raises Forbidden unless they organize the challenge, and if a viewer writes.

    Raises InsufficientScope for an administrator whose token lacks the scope `admin`, and ChallengeArchived if they
    write.
    """
    user_id = require_scope(caller, "organize")
    role = organizer_role(session, caller, challenge)
    if role is None:
        require_administrator(caller, "Only organizers of this challenge may do this.")
    if writes and role is not None:
        require_may_write(caller, role)
    if writes:
        require_not_archived(challenge)
    return user_id


def require_may_write(caller: Caller, role: str) -> None:
    """Raise Forbidden for an organizer with the role 'viewer', InsufficientScope for a token that may not organize."""
    require_scope(caller, "organize")
    if role == "viewer":
        require_administrator(caller, "Organizers with the role 'viewer' may only read.")


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


def require_owner(session: ReadSession, caller: Caller, challenge: Challenge, *, archived: bool = False) -> str:
    """The caller's user id; raises Forbidden unless they own the challenge, InsufficientScope as require_organizer.

    Raises ChallengeArchived unless `archived` allows it.
    """
    user_id = require_scope(caller, "organize")
    if organizer_role(session, caller, challenge) != "owner":
        require_administrator(caller, "Only an owner of this challenge may do this.")
    if not archived:
        require_not_archived(challenge)
    return user_id


def own_registration(session: ReadSession, caller: Caller, challenge: Challenge) -> Registration | None:
    """The caller's registration, whatever its status, if there is one."""
    return None if caller.user_id is None else teams.registration_of(session, challenge.id, caller.user_id)


def approved_registration(session: ReadSession, caller: Caller, challenge: Challenge) -> Registration | None:
    """The caller's approved registration, if there is one."""
    registration = own_registration(session, caller, challenge)
    return registration if registration is not None and registration.status == "approved" else None


def require_approved_registration(session: ReadSession, caller: Caller, challenge: Challenge) -> Registration:
    """The caller's approved registration; raises NotRegistered, RegistrationPending or RegistrationBarred."""
    user_id = require_scope(caller, "submit")
    registration = teams.registration_of(session, challenge.id, user_id)
    if registration is None:
        raise errors.NotRegistered
    require_approved_status(registration.status, registration.reason)
    if registration.team_id is None:
        raise errors.NoTeam
    return registration


def require_approved_status(status: str | None, reason: str | None) -> None:
    """Raise NotRegistered, RegistrationPending or RegistrationBarred unless a registration has been approved."""
    if status is None or status == "ended":
        raise errors.NotRegistered
    if status == "pending":
        raise errors.RegistrationPending
    if status == "barred":
        raise errors.RegistrationBarred(reason=reason)


@dataclass(frozen=True, slots=True)
class TeamOfCaller:
    """A team that the caller may see: as its member, with their registration, or as an organizer."""

    challenge: Challenge
    team: Team
    registration: Registration | None
    organizer: bool


def load_team(session: ReadSession, caller: Caller, slug: str, team_id: str) -> TeamOfCaller:
    """A team for its members and for organizers; raises NotFound for all others, and for one that was merged."""
    challenge = load_visible_challenge(session, caller, slug)
    if caller.user_id is None:
        raise errors.Unauthorized
    organizer = is_organizer(session, caller, challenge)
    registration = teams.registration_of(session, challenge.id, caller.user_id)
    own = registration if registration is not None and registration.team_id == team_id else None
    team = session.get(Team, team_id)
    if team is None or team.challenge_id != challenge.id or team.merged_into_id is not None:
        raise errors.NotFound
    if team.name_key == teams.TEST_TEAM_KEY:
        raise errors.NotFound
    if own is None and not organizer:
        raise errors.NotFound
    return TeamOfCaller(challenge, team, own, organizer)


def require_captain(session: ReadSession, caller: Caller, found: TeamOfCaller, *, or_organizer: bool = True) -> bool:
    """Whether the caller acts as an organizer, not as the captain.

    Raises NotCaptain, RegistrationBarred, and what require_organizer raises for an organizer who may not write.
    """
    if found.registration is not None and found.team.captain_id == caller.user_id:
        require_scope(caller, "submit")
        if found.registration.status == "barred":
            raise errors.RegistrationBarred(reason=found.registration.reason)
        require_not_archived(found.challenge)
        return False
    if found.organizer and or_organizer:
        require_organizer(session, caller, found.challenge)
        return True
    raise errors.NotCaptain


def require_team_in_competition(disqualified_at: datetime | None, reason: str | None) -> None:
    """Raise TeamDisqualified for a team that was disqualified."""
    if disqualified_at is not None:
        raise errors.TeamDisqualified(reason=reason)
