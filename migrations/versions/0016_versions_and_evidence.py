"""Switches of boards and their previews, receipts, public keys and the transparency log."""

from secrets import token_hex
from typing import Any

import sqlalchemy as sa
from alembic import op

from app.store.types import UTCDateTime, new_id

revision = "0016"
down_revision = "0015"

ID = sa.String(length=32)
JSON = sa.JSON(none_as_null=True)
PENDING = "status = 'pending'"
ACTIVE_GOLD = sa.text(
    """
    SELECT gold_versions.id, gold_versions.activated_at, gold_versions.created_at, phases.id AS phase_id,
        phases.scorer_version, own.id AS own_recipe, shared.id AS shared_recipe
    FROM gold_versions
    JOIN phases ON phases.id = gold_versions.phase_id
    LEFT JOIN recipes AS own ON own.phase_id = phases.id AND own.status = 'active'
    LEFT JOIN recipes AS shared ON shared.challenge_id = phases.challenge_id
        AND shared.phase_id IS NULL AND shared.status = 'active'
    WHERE gold_versions.status = 'active' ORDER BY gold_versions.id
    """
).columns(activated_at=UTCDateTime(), created_at=UTCDateTime())


def upgrade() -> None:
    empty = sa.text("''")
    op.add_column("gold_versions", sa.Column("void_ids", JSON))
    op.add_column("gold_versions", sa.Column("ids_hash", sa.String(length=64)))
    op.add_column("gold_versions", sa.Column("difference", JSON))
    op.add_column("gold_versions", sa.Column("changes", JSON))
    op.add_column("gold_versions", sa.Column("nonce", sa.String(length=64), server_default=empty, nullable=False))
    op.add_column("gold_versions", sa.Column("commitment", sa.String(length=64)))
    op.add_column("scores", sa.Column("empty_predictions", sa.Integer(), server_default=sa.text("0"), nullable=False))
    _draw_nonces()
    _record_first_switches(_create_switches())
    _create_previews()
    _create_receipts()
    _create_log()


def downgrade() -> None:
    tables = ("log_checkpoints", "log_tiles", "log_records", "log_origins", "signing_keys", "receipts")
    for table in (*tables, "board_previews", "board_switches"):
        op.drop_table(table)
    op.drop_column("scores", "empty_predictions")
    for column in ("commitment", "nonce", "changes", "difference", "ids_hash", "void_ids"):
        op.drop_column("gold_versions", column)


def _draw_nonces() -> None:
    """Give each gold version a secret of its own."""
    connection = op.get_bind()
    set_nonce = sa.text("UPDATE gold_versions SET nonce = :nonce WHERE id = :id")
    for gold in connection.scalars(sa.text("SELECT id FROM gold_versions")).all():
        connection.execute(set_nonce, {"nonce": token_hex(32), "id": gold})


def _record_first_switches(switches: sa.Table) -> None:
    """The versions in force now, as the first switch of each phase: earlier ones were not recorded."""
    connection = op.get_bind()
    for gold in connection.execute(ACTIVE_GOLD).all():
        at = gold.activated_at or gold.created_at
        row = {"id": new_id(), "phase_id": gold.phase_id, "number": 1, "status": "done", "to_gold_id": gold.id}
        row |= {"to_recipe_id": gold.own_recipe or gold.shared_recipe, "to_scorer_version": gold.scorer_version}
        connection.execute(switches.insert(), [row | {"requested_at": at, "switched_at": at}])


def _create_switches() -> sa.Table:
    table = op.create_table(
        "board_switches",
        _id(),
        sa.Column("phase_id", ID, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        *_versions(),
        sa.Column("reason", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("requested_by", ID),
        sa.Column("requested_at", UTCDateTime(), nullable=False),
        *(sa.Column(name, UTCDateTime()) for name in ("confirmed_at", "switched_at", "cancelled_at")),
        sa.Column("lists_instances", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("errata", JSON),
        sa.CheckConstraint("status IN ('pending', 'done', 'cancelled')", name=op.f("ck_board_switches_status")),
        *_references("board_switches"),
        sa.UniqueConstraint("phase_id", "number", name=op.f("uq_board_switches_phase_id_number")),
        _key("board_switches"),
    )
    _index("board_switches", "to_gold_id", "to_recipe_id")
    where = sa.text(PENDING)
    index = "uq_board_switches_pending"
    op.create_index(index, "board_switches", ["phase_id"], unique=True, sqlite_where=where, postgresql_where=where)
    return table


def _create_previews() -> None:
    op.create_table(
        "board_previews",
        _id(),
        sa.Column("phase_id", ID, nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        *_versions(),
        sa.Column("requested_by", ID),
        sa.Column("requested_at", UTCDateTime(), nullable=False),
        sa.Column("finished_at", UTCDateTime()),
        sa.Column("result", JSON),
        sa.Column("failure", JSON),
        sa.CheckConstraint("status IN ('scoring', 'done', 'failed')", name=op.f("ck_board_previews_status")),
        *_references("board_previews"),
        sa.UniqueConstraint(
            "phase_id",
            "to_gold_id",
            "to_recipe_id",
            "to_scorer_version",
            name=op.f("uq_board_previews_phase_id_to_gold_id_to_recipe_id_to_scorer_version"),
        ),
        _key("board_previews"),
    )
    _index("board_previews", "to_gold_id", "to_recipe_id")


def _create_receipts() -> None:
    parents = (("submission_id", "submissions"), ("gold_id", "gold_versions"), ("recipe_id", "recipes"))
    op.create_table(
        "receipts",
        _id(),
        *(sa.Column(name, ID, nullable=False) for name, _ in parents),
        sa.Column("scorer_version", sa.Integer(), nullable=False),
        sa.Column("split", sa.String(length=16), nullable=False),
        sa.Column("envelope", sa.Text(), nullable=False),
        sa.Column("created_at", UTCDateTime(), nullable=False),
        *(_reference("receipts", *each, ondelete="CASCADE") for each in parents),
        sa.UniqueConstraint(
            "submission_id",
            "gold_id",
            "recipe_id",
            "scorer_version",
            "split",
            name=op.f("uq_receipts_submission_id_gold_id_recipe_id_scorer_version_split"),
        ),
        _key("receipts"),
    )
    _index("receipts", "gold_id", "recipe_id")


def _create_log() -> None:
    op.create_table(
        "signing_keys",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("purpose", sa.String(length=16), nullable=False),
        sa.Column("public_key", sa.String(length=64), nullable=False),
        sa.Column("created_at", UTCDateTime(), nullable=False),
        sa.CheckConstraint("purpose IN ('receipts', 'log')", name=op.f("ck_signing_keys_purpose")),
        _key("signing_keys"),
    )
    op.create_table(
        "log_origins",
        _id(),
        sa.Column("name", sa.String(length=300), nullable=False),
        sa.Column("key_id", sa.String(length=64), nullable=False),
        sa.Column("started_at", UTCDateTime(), nullable=False),
        sa.Column("ended_at", UTCDateTime()),
        sa.Column("previous", sa.Text()),
        _reference("log_origins", "key_id", "signing_keys"),
        _key("log_origins"),
    )
    _create_log_records()
    op.create_table(
        "log_tiles",
        sa.Column("origin_id", ID, nullable=False),
        sa.Column("level", sa.Integer(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("hashes", sa.LargeBinary(), nullable=False),
        _reference("log_tiles", "origin_id", "log_origins"),
        _key("log_tiles", "origin_id", "level", "number"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "log_checkpoints",
        sa.Column("origin_id", ID, nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("created_at", UTCDateTime(), nullable=False),
        _reference("log_checkpoints", "origin_id", "log_origins"),
        _key("log_checkpoints", "origin_id", "size"),
    )


def _create_log_records() -> None:
    op.create_table(
        "log_records",
        _id(),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("challenge_id", ID),
        sa.Column("object_id", ID),
        sa.Column("salt", sa.String(length=64)),
        sa.Column("record", sa.Text()),
        sa.Column("entry", sa.String(length=64), nullable=False),
        sa.Column("origin_id", ID),
        sa.Column("position", sa.BigInteger()),
        sa.Column("created_at", UTCDateTime(), nullable=False),
        _reference("log_records", "origin_id", "log_origins"),
        sa.UniqueConstraint("origin_id", "position", name=op.f("uq_log_records_origin_id_position")),
        _key("log_records"),
    )
    _index("log_records", "object_id")
    where = sa.text("position IS NULL")
    op.create_index("ix_log_records_unsequenced", "log_records", ["id"], sqlite_where=where, postgresql_where=where)


def _versions() -> "list[sa.Column[Any]]":
    """The columns of the versions that a switch or a preview leads from, and of those that it leads to."""
    return [
        sa.Column("from_gold_id", ID),
        sa.Column("from_recipe_id", ID),
        sa.Column("from_scorer_version", sa.Integer()),
        sa.Column("to_gold_id", ID, nullable=False),
        sa.Column("to_recipe_id", ID, nullable=False),
        sa.Column("to_scorer_version", sa.Integer(), nullable=False),
    ]


def _references(table: str) -> list[sa.ForeignKeyConstraint]:
    return [
        _reference(table, "phase_id", "phases", ondelete="CASCADE"),
        _reference(table, "to_gold_id", "gold_versions", ondelete="CASCADE"),
        _reference(table, "to_recipe_id", "recipes", ondelete="CASCADE"),
        _reference(table, "requested_by", "users"),
    ]


def _index(table: str, *columns: str) -> None:
    for column in columns:
        op.create_index(op.f(f"ix_{table}_{column}"), table, [column])


def _id() -> "sa.Column[str]":
    return sa.Column("id", ID, nullable=False)


def _key(table: str, *columns: str) -> sa.PrimaryKeyConstraint:
    return sa.PrimaryKeyConstraint(*(columns or ("id",)), name=op.f(f"pk_{table}"))


def _reference(table: str, column: str, parent: str, ondelete: str | None = None) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{parent}.id"], name=op.f(f"fk_{table}_{column}"), ondelete=ondelete)
