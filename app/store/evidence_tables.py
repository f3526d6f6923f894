"""The tables that let strangers verify scores: receipts, public keys, and the transparency log."""

from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, Index, LargeBinary, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from app.store.base import ID, Base, one_of_check
from app.store.types import new_id, utcnow


class Receipt(Base):
    """The signed statement of one score, stored in the transaction that stores the score: written once."""

    __tablename__ = "receipts"
    __table_args__ = (UniqueConstraint("submission_id", "gold_id", "recipe_id", "scorer_version", "split"),)

    id: Mapped[str] = mapped_column(ID, primary_key=True, default=new_id)
    submission_id: Mapped[str] = mapped_column(ForeignKey("submissions.id", ondelete="CASCADE"))
    gold_id: Mapped[str] = mapped_column(ForeignKey("gold_versions.id", ondelete="CASCADE"), index=True)
    recipe_id: Mapped[str] = mapped_column(ForeignKey("recipes.id", ondelete="CASCADE"), index=True)
    scorer_version: Mapped[int]
    split: Mapped[str] = mapped_column(String(16))
    envelope: Mapped[str] = mapped_column(Text, deferred=True)
    """The DSSE envelope, as it is served."""
    payload_sha256: Mapped[str] = mapped_column(String(64))
    """Of the signed payload, by which the transparency log knows it."""
    created_at: Mapped[datetime] = mapped_column(default=utcnow)


class SigningKey(Base):
    """A public key with which this installation signs or signed; private keys are never in the database."""

    __tablename__ = "signing_keys"
    __table_args__ = (one_of_check("purpose", "receipts", "log"),)

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    """The RFC 7638 thumbprint."""
    purpose: Mapped[str] = mapped_column(String(16))
    public_key: Mapped[str] = mapped_column(String(64))
    """The 32 bytes of Ed25519, base64url without padding."""
    created_at: Mapped[datetime] = mapped_column(default=utcnow)


class LogRecord(Base):
    """A record of the transparency log, stored by the act that it records; the sequencer gives it a position later."""

    __tablename__ = "log_records"
    __table_args__ = (
        UniqueConstraint("origin_id", "position"),
        Index(
            "ix_log_records_unsequenced",
            "id",
            sqlite_where=text("position IS NULL"),
            postgresql_where=text("position IS NULL"),
        ),
        Index("ix_log_records_object_id", "object_id"),
    )

    id: Mapped[str] = mapped_column(ID, primary_key=True, default=new_id)
    kind: Mapped[str] = mapped_column(String(32))
    """Such as `receipt`, `audit`, `gold`, `switch`, `release`."""
    challenge_id: Mapped[str | None] = mapped_column(ID)
    object_id: Mapped[str | None] = mapped_column(ID)
    """The id of what is recorded: a receipt, an audit entry, a gold version, a switch, a phase."""
    salt: Mapped[str | None] = mapped_column(String(64))
    """32 random bytes in hexadecimal; None once the record was erased."""
    record: Mapped[str | None] = mapped_column(Text)
    """Canonical JSON (RFC 8785); None once it was erased."""
    entry: Mapped[str] = mapped_column(String(64))
    """SHA-256 over salt and record, in hexadecimal: the entry of the log. Its leaf stays when the record is erased."""
    origin_id: Mapped[str | None] = mapped_column(ForeignKey("log_origins.id"))
    position: Mapped[int | None] = mapped_column(BigInteger)
    created_at: Mapped[datetime] = mapped_column(default=utcnow)


class LogOrigin(Base):
    """One log of this installation; a restored or copied installation begins another one."""

    __tablename__ = "log_origins"

    id: Mapped[str] = mapped_column(ID, primary_key=True, default=new_id)
    name: Mapped[str] = mapped_column(String(300))
    """The origin line of its checkpoints."""
    key_id: Mapped[str] = mapped_column(ForeignKey("signing_keys.id"))
    started_at: Mapped[datetime] = mapped_column(default=utcnow)
    ended_at: Mapped[datetime | None]
    previous: Mapped[str | None] = mapped_column(Text)
    """The last known checkpoint of the log before it, which its first leaf names."""
    place: Mapped[str | None] = mapped_column(String(100))
    """Which database and files it belongs to, so that copies of them do not continue it; None: to be found out."""


class LogTile(Base):
    """A tile of up to 256 hashes of the tree of a log (C2SP tlog-tiles), level 0 being the leaf hashes.

    The last tile of a level grows. A partial tile of any width is the beginning of the stored one.
    """

    __tablename__ = "log_tiles"
    __table_args__ = ({"sqlite_with_rowid": False},)

    origin_id: Mapped[str] = mapped_column(ForeignKey("log_origins.id"), primary_key=True)
    level: Mapped[int] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    hashes: Mapped[bytes] = mapped_column(LargeBinary)


class LogCheckpoint(Base):
    """A signed tree head of a log."""

    __tablename__ = "log_checkpoints"

    origin_id: Mapped[str] = mapped_column(ForeignKey("log_origins.id"), primary_key=True)
    size: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    note: Mapped[str] = mapped_column(Text)
    """The signed note, with cosignatures of witnesses."""
    created_at: Mapped[datetime] = mapped_column(default=utcnow)
