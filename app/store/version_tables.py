"""The tables of versions in force: switches of boards, and previews of them."""

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String, Text, UniqueConstraint, false, text
from sqlalchemy.orm import Mapped, mapped_column

from app.store.base import ID, Base, JSONObject, one_of_check
from app.store.types import new_id, utcnow


class BoardSwitch(Base):
    """A change of the gold, recipe or scorer version that the boards of a phase are computed from.

    Requested with a reason, pending while submissions are scored by the new versions, then done in one transaction. The
    switches that are done say which versions were in force when: the first one of a phase activates its first gold and
    comes from nothing.
    """

    __tablename__ = "board_switches"
    __table_args__ = (
        one_of_check("status", "pending", "done", "cancelled"),
        UniqueConstraint("phase_id", "number"),
        Index(
            "uq_board_switches_pending",
            "phase_id",
            unique=True,
            sqlite_where=text("status = 'pending'"),
            postgresql_where=text("status = 'pending'"),
        ),
    )

    id: Mapped[str] = mapped_column(ID, primary_key=True, default=new_id)
    phase_id: Mapped[str] = mapped_column(ForeignKey("phases.id", ondelete="CASCADE"))
    number: Mapped[int]
    """1, 2, 3… in each phase."""
    status: Mapped[str] = mapped_column(String(16))
    from_gold_id: Mapped[str | None] = mapped_column(ID)
    from_recipe_id: Mapped[str | None] = mapped_column(ID)
    from_scorer_version: Mapped[int | None]
    to_gold_id: Mapped[str] = mapped_column(ForeignKey("gold_versions.id", ondelete="CASCADE"), index=True)
    to_recipe_id: Mapped[str] = mapped_column(ForeignKey("recipes.id", ondelete="CASCADE"), index=True)
    to_scorer_version: Mapped[int]
    reason: Mapped[str] = mapped_column(Text, server_default=text("''"))
    requested_by: Mapped[str | None] = mapped_column(ForeignKey("users.id"))
    """None for the service itself, such as for a new scorer version."""
    requested_at: Mapped[datetime] = mapped_column(default=utcnow)
    confirmed_at: Mapped[datetime | None]
    """When an organizer accepted that submissions that cannot be scored leave the board."""
    switched_at: Mapped[datetime | None]
    cancelled_at: Mapped[datetime | None]
    lists_instances: Mapped[bool] = mapped_column(default=False, server_default=false())
    """Whether the errata name the ids of the instances that changed."""
    errata: Mapped[JSONObject | None] = mapped_column(deferred=True)
    """What the switch changed, computed in its transaction: rows and ranks before and after."""


class BoardPreview(Base):
    """What a switch to other versions would change, computed in the background and seen by organizers alone."""

    __tablename__ = "board_previews"
    __table_args__ = (
        one_of_check("status", "scoring", "done", "failed"),
        UniqueConstraint("phase_id", "to_gold_id", "to_recipe_id", "to_scorer_version"),
    )

    id: Mapped[str] = mapped_column(ID, primary_key=True, default=new_id)
    phase_id: Mapped[str] = mapped_column(ForeignKey("phases.id", ondelete="CASCADE"))
    status: Mapped[str] = mapped_column(String(16))
    from_gold_id: Mapped[str | None] = mapped_column(ID)
    from_recipe_id: Mapped[str | None] = mapped_column(ID)
    from_scorer_version: Mapped[int | None]
    to_gold_id: Mapped[str] = mapped_column(ForeignKey("gold_versions.id", ondelete="CASCADE"), index=True)
    to_recipe_id: Mapped[str] = mapped_column(ForeignKey("recipes.id", ondelete="CASCADE"), index=True)
    to_scorer_version: Mapped[int]
    requested_by: Mapped[str | None] = mapped_column(ForeignKey("users.id"))
    requested_at: Mapped[datetime] = mapped_column(default=utcnow)
    finished_at: Mapped[datetime | None]
    result: Mapped[JSONObject | None] = mapped_column(deferred=True)
    failure: Mapped[JSONObject | None]
