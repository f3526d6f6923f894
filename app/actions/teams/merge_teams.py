"""Merge two teams: one captain proposes, the other agrees, and the team that proposed stays."""

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from app.actions.access import Caller, TeamOfCaller, load_team, require_approved_status, require_captain
from app.actions.audit.record import record
from app.actions.challenges.change_recipe import parse_stored_recipe
from app.actions.submissions.score_visibility import is_board_visible
from app.actions.teams.join_team import enter_team, require_place
from app.actions.teams.leave_team import end_offers
from app.errors import InvalidRequest, MergeExceedsQuota, MergeTooLate, NoMergeProposal, NotFound, TeamCannotMerge
from app.store import clock
from app.store.queries import challenges, memberships, team_merges, teams
from app.store.queries.memberships import Member
from app.store.session import ReadSession, WriteSession
from app.store.tables import Challenge, Phase, Team, TeamMerge
from app.store.types import format_timestamp


@dataclass(frozen=True, slots=True)
class MergeState:
    """What a captain's request to merge led to: the team as it is now, and whether the merge is done."""

    team: Team
    other: Team
    merged: bool


def merge_teams(session: WriteSession, caller: Caller, slug: str, team_id: str, other_name: str) -> MergeState:
    """Propose to merge the caller's team with another; if that one proposed it before, merge them.

    Both are checked at either step. The team that proposed stays, with its name and captain. Raises NotFound, NotCaptain,
    MergeTooLate, TeamCannotMerge, TeamFull and MergeExceedsQuota.
    """
    found = load_team(session, caller, slug, team_id)
    _require_acting_captain(session, caller, found)
    other = _other_team(session, found, other_name)
    first, second = (memberships.lock_team(session, each) for each in sorted((team_id, other.id)))
    assert first is not None
    assert second is not None
    between = {found.team.id, other.id}
    open_ones = [
        each.merge
        for each in team_merges.open_proposals(session, [team_id])
        if {each.merge.team_id, each.merge.other_team_id} == between
    ]
    agrees = bool(open_ones) and open_ones[0].team_id == other.id
    _require_mergeable(session, found.challenge, found.team, other, agreed=agrees)
    if not open_ones:
        now = clock.now(session)
        proposal = TeamMerge(team_id=team_id, other_team_id=other.id, proposed_by=caller.user_id, proposed_at=now)
        session.add(proposal)
        changes = {"with": (None, other.id)}
        record(
            session, caller, "team.propose_merge", challenge=found.challenge, of=found.team, team=other, changes=changes
        )
        session.flush()
        return MergeState(found.team, other, merged=False)
    if not agrees:  # proposed before: the other captain has not agreed yet
        return MergeState(found.team, other, merged=False)
    open_ones[0].agreed_at = clock.now(session)
    _merge(session, caller, found.challenge, kept=other, gone=found.team)
    return MergeState(other, found.team, merged=True)


def withdraw_merge(session: WriteSession, caller: Caller, slug: str, team_id: str, other_name: str) -> None:
    """Withdraw the team's own proposal to merge with another, or decline that of the other; for its captain.

    Raises NotFound, NotCaptain and NoMergeProposal.
    """
    found = load_team(session, caller, slug, team_id)
    _require_acting_captain(session, caller, found)
    other = _other_team(session, found, other_name)
    now = clock.now(session)
    ended = [
        each.merge
        for each in team_merges.open_proposals(session, [team_id])
        if other.id in {each.merge.team_id, each.merge.other_team_id}
    ]
    if not ended:
        raise NoMergeProposal
    for merge in ended:
        merge.withdrawn_at = now
    changes = {"with": (other.id, None)}
    record(
        session, caller, "team.withdraw_merge", challenge=found.challenge, of=found.team, team=other, changes=changes
    )
    session.flush()


def _require_acting_captain(session: ReadSession, caller: Caller, found: TeamOfCaller) -> None:
    require_captain(session, caller, found, or_organizer=False)
    assert found.registration is not None
    require_approved_status(found.registration.status, found.registration.reason)


def _other_team(session: ReadSession, found: TeamOfCaller, name: str) -> Team:
    """The team with this name or id; raises NotFound, and InvalidRequest for the team itself."""
    other = teams.by_id_or_name(session, found.challenge.id, name)
    if other is None:
        detail, remedy = f"The challenge has no team '{name}'.", "Check the name, or ask for the id of the team."
        raise NotFound(detail, remedy=remedy)
    if other.id == found.team.id:
        fault = {"pointer": "/with", "detail": "is the team itself"}
        raise InvalidRequest("A team cannot merge with itself.", errors=[fault])
    return other


def _require_mergeable(session: ReadSession, challenge: Challenge, team: Team, other: Team, *, agreed: bool) -> None:
    now, deadline = clock.now(session), challenge.merge_deadline
    if deadline is not None and now >= deadline:
        raise MergeTooLate(f"The deadline for merging teams was {format_timestamp(deadline)}.")
    phases = challenges.phases_of(session, challenge.id)
    released = [phase.slug for phase in phases if phase.released_at is not None]
    if released:
        detail = f"The final results of '{released[0]}' are released, and a merge would change them."
        raise MergeTooLate(detail, remedy="Teams merge before the first final release.")
    members = memberships.members_by_team(session, [team.id, other.id])
    for each in (team, other):
        if each.disqualified_at is not None or not _has_captain(each, members[each.id]):
            raise TeamCannotMerge(f"The team '{each.name}' is disqualified or has no captain who can act.")
    require_place(challenge, sum(memberships.count_members(session, each.id) for each in (team, other)))
    for phase in phases:
        told = agreed and not phase.anonymous and is_board_visible(phase, now, organizer=False)
        _require_quota(session, phase, [team.id, other.id], now, told=told)


def _has_captain(team: Team, members: list[Member]) -> bool:
    captains = [each for each in members if each.registration.user_id == team.captain_id]
    return bool(captains) and captains[0].registration.status == "approved"


def _require_quota(session: ReadSession, phase: Phase, ids: list[str], now: datetime, *, told: bool) -> None:
    """Raise MergeExceedsQuota if both together made more submissions in a phase than one team could have so far.

    `told` says whether the caller learns the numbers, of which those of the other team can be computed.
    """
    if now < phase.opens_at:
        return
    used, granted = team_merges.charged(session, phase.id, ids), team_merges.granted(session, phase.id, ids)
    limits = {name: phase.quota[name] + granted[name] for name in granted if phase.quota.get(name) is not None}
    zone = ZoneInfo(phase.challenge.timezone)
    until = now if phase.closes_at is None or phase.late == "unofficial" else min(now, phase.closes_at)
    days = (until.astimezone(zone).date() - phase.opens_at.astimezone(zone).date()).days + 1
    possible = {name: limit * (days if name == "per_day" else 1) for name, limit in limits.items()}
    for name, most in possible.items():
        limit = max(0, most)
        if used > limit:
            detail = (
                f"In the phase '{phase.slug}' the teams have made {{}} one team could have made{{}} so far ({name})."
            )
            if not told:
                raise MergeExceedsQuota(detail.format("more submissions together than", ""), phase=phase.slug)
            detail = detail.format(f"{used} submissions together;", f" {limit}")
            raise MergeExceedsQuota(detail, phase=phase.slug, used=used, limit=limit)


def _merge(session: WriteSession, caller: Caller, challenge: Challenge, *, kept: Team, gone: Team) -> None:
    """Move members, submissions, quota and ties of one team to the other; the lock on the challenge is held."""
    now = clock.now(session)
    for submission in team_merges.lock_submissions_of(session, gone.id):
        submission.sent_team_id = submission.sent_team_id or gone.id
        submission.team_id = kept.id
    session.flush()
    team_merges.move_rows(session, gone.id, kept.id)
    for member in memberships.members_of(session, gone.id):
        memberships.end_stay(session, gone.id, member.registration.user_id, now)
        enter_team(session, member.registration, kept)
    unselected = _unselect_surplus(session, challenge, kept)
    changes = {"merged_into": (None, kept.id), "captain": (gone.captain_id, None), "unselected": (None, unselected)}
    record(session, caller, "team.merge", challenge=challenge, of=gone, team=kept, changes=changes)
    gone.merged_into_id, gone.captain_id = kept.id, None
    session.flush()
    end_offers(session, gone)


def _unselect_surplus(session: WriteSession, challenge: Challenge, team: Team) -> list[str] | None:
    """Clear the newest selections of a team in each phase beyond the maximum; returns the ids, None without any."""
    selected = team_merges.lock_submissions_of(session, team.id, selected=True)
    surplus = []
    for phase in challenges.phases_of(session, challenge.id):
        maximum = parse_stored_recipe(phase, challenges.active_recipe(session, phase)).selection_max
        if maximum is None:
            continue
        own = [(row.selected_at, row.id, row) for row in selected if row.phase_id == phase.id]
        surplus += [row for _, _, row in sorted(own, key=lambda each: each[:2])[maximum:]]
    for row in surplus:
        row.selected_at = None
    session.flush()
    return [row.id for row in surplus] or None
