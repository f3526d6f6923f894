"""The table of frozen boards."""

from datetime import datetime

from sqlalchemy import ForeignKey, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app.store.base import ID, Base
from app.store.types import new_id, utcnow


class FrozenBoard(Base):
    """A board as participants saw it at the end of a phase, kept to be cited: stored once, never changed.

    A later one of the same phase supersedes it, and both stay.
    """

    __tablename__ = "frozen_boards"
    __table_args__ = (UniqueConstraint("phase_id", "number"),)

    id: Mapped[str] = mapped_column(ID, primary_key=True, default=new_id)
    phase_id: Mapped[str] = mapped_column(ForeignKey("phases.id", ondelete="CASCADE"))
    number: Mapped[int]
    """1, 2, 3… in each phase."""
    title: Mapped[str] = mapped_column(String(200))
    reason: Mapped[str] = mapped_column(Text)
    sha256: Mapped[str] = mapped_column(String(64), index=True)
    """Of the content, in hexadecimal."""
    content: Mapped[str] = mapped_column(Text, deferred=True)
    """Canonical JSON (RFC 8785)."""
    checkpoint: Mapped[str | None] = mapped_column(Text)
    """The newest checkpoint of the transparency log at that time; None before the first one."""
    frozen_by: Mapped[str | None] = mapped_column(ForeignKey("users.id"))
    created_at: Mapped[datetime] = mapped_column(default=utcnow)
