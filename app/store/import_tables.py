"""The tables of imported phases: the imports, the ids that rows had before, and the receipts that came along."""

from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, Index, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from app.store.base import ID, Base, JSONObject, one_of_check
from app.store.types import new_id, utcnow


class PhaseImport(Base):
    """The import of an archive of a phase: nothing of the phase is stored before all of it was checked."""

    __tablename__ = "imports"
    __table_args__ = (
        one_of_check("status", "queued", "running", "done", "failed"),
        Index(
            "uq_imports_origin_phase_id",
            "origin_phase_id",
            unique=True,
            sqlite_where=text("status <> 'failed'"),
            postgresql_where=text("status <> 'failed'"),
        ),
    )

    id: Mapped[str] = mapped_column(ID, primary_key=True, default=new_id)
    status: Mapped[str] = mapped_column(String(16))
    stage: Mapped[str] = mapped_column(String(16), default="", server_default=text("''"))
    """What a worker is at: `checking`, `scoring` or `storing`; empty while none is."""
    slug: Mapped[str] = mapped_column(String(64))
    """The slug that the challenge is to have here."""
    origin: Mapped[JSONObject]
    """What the manifest says of its source: `url`, `challenge`, `phase`, `program`, `scorer_version`, `exported_at`."""
    origin_phase_id: Mapped[str] = mapped_column(ID)
    """The id of the phase at its source: a phase is imported once."""
    file_key: Mapped[str | None] = mapped_column(String(100), index=True)
    """The archive; None once it was deleted, because the import has ended."""
    sha256: Mapped[str] = mapped_column(String(64))
    size: Mapped[int] = mapped_column(BigInteger)
    total: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    """How many submissions the archive has; 0 before they were counted."""
    done: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    attempt: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    """The fencing token, as of a task: every claim increments it."""
    lease_until: Mapped[datetime | None]
    failure: Mapped[JSONObject | None]
    reason: Mapped[str | None] = mapped_column(Text)
    requested_by: Mapped[str | None] = mapped_column(ForeignKey("users.id"))
    requested_at: Mapped[datetime] = mapped_column(default=utcnow)
    finished_at: Mapped[datetime | None]
    challenge_id: Mapped[str | None] = mapped_column(ForeignKey("challenges.id", ondelete="CASCADE"), index=True)
    """The challenge that was made; with it the import is forgotten, so that the archive may be imported again."""
    phase_id: Mapped[str | None] = mapped_column(ID)


class ImportedId(Base):
    """The id that a row of an imported phase had at its source."""

    __tablename__ = "imported_ids"
    __table_args__ = (
        one_of_check("kind", "challenge", "phase", "gold", "recipe", "team", "submission", "switch"),
        Index("ix_imported_ids_local_id", "local_id"),
    )

    import_id: Mapped[str] = mapped_column(ForeignKey("imports.id", ondelete="CASCADE"), primary_key=True)
    kind: Mapped[str] = mapped_column(String(16), primary_key=True)
    origin_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    local_id: Mapped[str] = mapped_column(ID)


class ForeignReceipt(Base):
    """A receipt that another installation signed, with its log proof: kept to be shown, never trusted as an own one."""

    __tablename__ = "foreign_receipts"
    __table_args__ = (
        UniqueConstraint(
            *("submission_id", "gold_id", "recipe_id", "scorer_version", "split"), name="uq_foreign_receipts_score"
        ),
    )

    id: Mapped[str] = mapped_column(ID, primary_key=True, default=new_id)
    import_id: Mapped[str] = mapped_column(ForeignKey("imports.id", ondelete="CASCADE"), index=True)
    origin_id: Mapped[str] = mapped_column(String(64))
    submission_id: Mapped[str] = mapped_column(ForeignKey("submissions.id", ondelete="CASCADE"))
    gold_id: Mapped[str] = mapped_column(ForeignKey("gold_versions.id", ondelete="CASCADE"), index=True)
    recipe_id: Mapped[str] = mapped_column(ForeignKey("recipes.id", ondelete="CASCADE"), index=True)
    scorer_version: Mapped[int]
    split: Mapped[str] = mapped_column(String(16))
    envelope: Mapped[str] = mapped_column(Text, deferred=True)
    """The DSSE envelope, byte for byte."""
    proof: Mapped[str | None] = mapped_column(Text, deferred=True)
    """The tlog-proof of the log of its installation; None if that had not logged it."""
