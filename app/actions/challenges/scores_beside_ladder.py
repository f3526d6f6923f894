"""Find phases that show scores against the gold of a phase whose Ladder limits feedback: what the one withholds, the other tells."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from app.actions.submissions.ladders import limits_feedback
from app.store.queries import challenges, gold
from app.store.session import ReadSession
from app.store.tables import Phase


class ScoresBesideLadder(NamedTuple):
    """A phase with a Ladder, and another one of its challenge that shows scores against the same gold file."""

    limited: Phase
    other: Phase

    @property
    def warning(self) -> str:
        """What this means and how to mend it."""
        return (
            f"Phase '{self.other.slug}' shows scores against the same gold as phase '{self.limited.slug}', so the "
            f"Ladder of '{self.limited.slug}' limits nothing. Give '{self.other.slug}' other gold or the same Ladder."
        )


def find_scores_beside_ladders(session: ReadSession, phases: Iterable[Phase]) -> Iterator[ScoresBesideLadder]:
    """For each of these phases of one challenge that a Ladder limits, the phases that undo it.

    Only an equal file is recognized as the same gold.
    """
    for limited in phases:
        version = gold.active(session, limited.id)
        if version is None or not limits_feedback(session, limited, organizer=False):
            continue
        for other in challenges.phases_of(session, limited.challenge_id):
            beside = gold.active(session, other.id)
            is_same = other.id != limited.id and beside is not None and beside.sha256 == version.sha256
            if is_same and _shows_scores(other) and not limits_feedback(session, other, organizer=False):
                yield ScoresBesideLadder(limited, other)


def _shows_scores(phase: Phase) -> bool:
    """Whether participants ever see anything of the scores of a phase."""
    return bool(phase.reports) or phase.leaderboard != "hidden"
