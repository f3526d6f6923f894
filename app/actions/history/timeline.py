"""The attempts and acts of a phase in the order of time, from the columns and, where those were overwritten, the trail."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from app.errors import TooMuchHistory
from app.store.queries import board_history, board_marks
from app.store.queries.board_history import Act, Attempt
from app.store.session import ReadSession
from app.store.tables import Phase
from app.store.types import EPOCH

MAX_ATTEMPTS = 100_000
"""Former boards of phases with more finished submissions are not computed."""

Event = Attempt | Act


def read_events(session: ReadSession, phase: Phase, until: datetime | None = None) -> list[Event]:
    """Everything up to a time that decided which entries count, oldest first; raises TooMuchHistory.

    An attempt comes before the acts of the same time, and before all acts on it, whatever the clocks said.
    """
    if board_history.count_attempts(session, phase.id) > MAX_ATTEMPTS:
        raise TooMuchHistory(f"The phase has more than {MAX_ATTEMPTS:,} finished submissions.")
    attempts = board_history.attempts(session, phase.id, until)
    acts = [*board_history.acts(session, phase), *_bars(session, phase)]
    acts += _acts_before_the_trail(attempts, acts)
    events: list[Event] = [*attempts, *(act for act in acts if until is None or act.at <= until)]
    accepted = {each.submission: each.submitted_at for each in attempts}

    def place(event: Event) -> tuple[datetime, bool]:
        if isinstance(event, Attempt):
            return event.submitted_at, False
        return max(event.at, accepted.get(event.object_id, event.at)), True

    return sorted(events, key=place)


def moment_of(event: Event) -> datetime:
    """When an attempt was accepted, or an act was done."""
    return event.submitted_at if isinstance(event, Attempt) else event.at


def _acts_before_the_trail(attempts: Iterable[Attempt], known: Iterable[Act]) -> Iterator[Act]:
    """The acts that columns tell of and the audit trail does not, such as those of imported or older submissions."""
    recorded = {(act.object_id, act.action) for act in known}
    teams: dict[str, datetime] = {}
    for each in attempts:
        columns = {
            "submission.withdraw": each.withdrawn_at,
            "submission.disqualify": each.disqualified_at,
            "submission.select": each.selected_at,
        }
        for action, at in columns.items():
            if at is not None and (each.submission, action) not in recorded:
                yield Act(at, action, each.submission)
        if each.team_disqualified_at is not None and (each.team, "team.disqualify") not in recorded:
            teams[each.team] = each.team_disqualified_at
    yield from (Act(at, "team.disqualify", team) for team, at in teams.items())


def _bars(session: ReadSession, phase: Phase) -> list[Act]:
    """When all members that a team has now were barred, and when that ended: who was in it before is not considered."""
    changes = board_history.bar_changes(session, phase.challenge_id)
    members = board_history.members_by_team(session, phase.challenge_id, {change.registration for change in changes})
    marked = board_marks.marked_teams(session, phase.challenge_id)
    first = {change.registration: change.before for change in reversed(changes)}
    found: list[Act] = []
    for team, of_team in members.items():
        statuses = {each: first.get(each, status) for each, status in of_team.items()}
        is_barred, latest = False, None
        for change in (each for each in changes if each.registration in of_team):
            statuses[change.registration], latest = change.after, change.at
            if is_barred != (set(statuses.values()) == {"barred"}):
                is_barred = not is_barred
                found.append(Act(change.at, "team.bar" if is_barred else "team.unbar", team))
        if is_barred and marked.get(team) is None:  # another member joined since, whose time is not in the trail
            found.append(Act(latest or EPOCH, "team.unbar", team))
    known = {act.object_id for act in found}
    return found + [
        Act(EPOCH, "team.bar", team) for team, mark in marked.items() if mark == "barred" and team not in known
    ]
