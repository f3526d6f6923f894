"""Tables that are derived from scores for leaderboards, and can be rebuilt from them."""

from sqlalchemy import Double, ForeignKey, Index, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from app.store.base import ID, Base

ENTRY_CONDITION = "team_id IS NOT NULL"


def submission_indexes() -> tuple[Index, ...]:
    """The indexes by which a board finds single submissions; their columns never change while one is scored."""
    partial = {
        "off_board": ("withdrawn_at IS NOT NULL OR disqualified_at IS NOT NULL",) * 2,
        "baseline": ("baseline = 1", "baseline"),
        "selected": ("selected_at IS NOT NULL",) * 2,
    }
    return (
        Index("ix_submissions_submitted_at", "phase_id", "submitted_at"),
        *(
            Index(f"ix_submissions_{name}", "phase_id", sqlite_where=text(sqlite), postgresql_where=text(postgresql))
            for name, (sqlite, postgresql) in partial.items()
        ),
    )


class RankedValue(Base):
    """The ranking key of one metric value of a score, so that a board does not read the JSON of scores that lose.

    The row of the primary metric also says, in the columns that are null in all other rows, for which team this score
    competes with which others: only then is it an entry. Written with the scores (app.store.queries.ranked_values).
    """

    __tablename__ = "ranked_values"
    __table_args__ = (
        Index(
            "ix_ranked_values_entries",
            "provenance",
            "team_id",
            "undefined",
            "ranking_key",
            "submission_id",
            "score_id",
            sqlite_where=text(ENTRY_CONDITION),
            postgresql_where=text(ENTRY_CONDITION),
        ),
        {"sqlite_with_rowid": False},
    )

    score_id: Mapped[str] = mapped_column(ForeignKey("scores.id", ondelete="CASCADE"), primary_key=True)
    metric: Mapped[str] = mapped_column(Text, primary_key=True)
    undefined: Mapped[bool]
    """The value is null, so it follows all numbers."""
    ranking_key: Mapped[float] = mapped_column(Double)
    """Smaller is better: the value, or its negative if higher values are better; 0 if undefined."""
    provenance: Mapped[str | None] = mapped_column(ID)
    """A hash of gold, recipe fingerprint, scorer version, split and primary metric: entries with the same compete."""
    team_id: Mapped[str | None] = mapped_column(ID)
    submission_id: Mapped[str | None] = mapped_column(ID)


class EntryCount(Base):
    """How many entries of a team compete, so that a board does not count them."""

    __tablename__ = "entry_counts"
    __table_args__ = ({"sqlite_with_rowid": False},)

    provenance: Mapped[str] = mapped_column(ID, primary_key=True)
    team_id: Mapped[str] = mapped_column(ForeignKey("teams.id", ondelete="CASCADE"), primary_key=True, index=True)
    entries: Mapped[int]
