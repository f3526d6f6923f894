"""The audit trail: what organizers, administrators and captains did; rows are only ever added."""

from datetime import datetime

from sqlalchemy import Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from app.store.base import ID, Base, JSONObject
from app.store.types import new_id, utcnow


class AuditEntry(Base):
    """One act: who, when, on what, what changed from what to what, and why.

    Triggers refuse to change or delete rows. So no column refers to another table, and no column holds a name or
    address of a person: those are read from the account, which may be deleted.
    """

    __tablename__ = "audit_entries"
    __table_args__ = (
        Index("ix_audit_entries_challenge_id_id", "challenge_id", "id"),
        Index("ix_audit_entries_object_id_id", "object_id", "id"),
        Index("ix_audit_entries_actor_id_id", "actor_id", "id"),
    )

    id: Mapped[str] = mapped_column(ID, primary_key=True, default=new_id)
    at: Mapped[datetime] = mapped_column(default=utcnow)
    actor_id: Mapped[str | None] = mapped_column(ID)
    """The account; None for the operator's command line and for the service itself."""
    role: Mapped[str] = mapped_column(String(16))
    action: Mapped[str] = mapped_column(String(64))
    """Object and verb, such as `phase.pause`."""
    challenge_id: Mapped[str | None] = mapped_column(ID)
    phase_id: Mapped[str | None] = mapped_column(ID)
    team_id: Mapped[str | None] = mapped_column(ID)
    user_id: Mapped[str | None] = mapped_column(ID)
    """Whom the act concerns, such as the user of a registration; None if that is nobody in particular."""
    object_type: Mapped[str | None] = mapped_column(String(16))
    object_id: Mapped[str | None] = mapped_column(ID)
    object_name: Mapped[str | None] = mapped_column(String(200))
    """A slug or the name of a team; None for accounts."""
    changes: Mapped[JSONObject]
    """By field: `{"from": …, "to": …}`."""
    reason: Mapped[str | None] = mapped_column(Text)
