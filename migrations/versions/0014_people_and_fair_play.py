"""Sessions, invitations, captains, merges, terms, organizers' grants, phases with rules of their own, the audit trail."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from secrets import token_hex
from typing import Any

import sqlalchemy as sa
from alembic import op
from alembic.operations.base import BatchOperations

from app.store.types import UTCDateTime

revision = "0014"
down_revision = "0013"

ID = sa.String(length=32)
SLUG = sa.String(length=64)
HASH = sa.String(length=64)
NAME = sa.String(length=200)
JSON = sa.JSON(none_as_null=True)
NO = sa.false()
TASKS = "IN ('binary', 'multiclass', 'multilabel')"
STATUS_CHECK = "ck_registrations_status"
# Column by column with its constraint, because SQLite would have to copy a table for constraints that follow.
COLUMNS: Sequence[tuple[str, sa.Column[Any]]] = (
    ("users", sa.Column("disabled_at", UTCDateTime())),
    ("users", sa.Column("disabled_reason", sa.Text())),
    ("users", sa.Column("deleted_at", UTCDateTime())),
    ("tokens", sa.Column("name", NAME, server_default=sa.text("''"), nullable=False)),
    ("tokens", sa.Column("last_used_at", UTCDateTime())),
    ("challenges", sa.Column("terms_version", sa.Integer(), server_default=sa.text("0"), nullable=False)),
    ("challenges", sa.Column("registration_fields", JSON, server_default=sa.text("'[]'"), nullable=False)),
    ("challenges", sa.Column("contact", sa.Text())),
    ("challenges", sa.Column("team_size_limit", sa.Integer())),
    ("challenges", sa.Column("merge_deadline", UTCDateTime())),
    ("challenges", sa.Column("lineage_id", ID)),
    ("challenges", sa.Column("archived_at", UTCDateTime())),
    ("organizers", sa.Column("removed_at", UTCDateTime())),
    ("recipes", sa.Column("phase_id", ID)),
    ("phases", sa.Column("late", sa.String(length=16), server_default=sa.text("'refuse'"), nullable=False)),
    ("phases", sa.Column("paused_at", UTCDateTime())),
    ("phases", sa.Column("pause_reason", sa.Text())),
    ("phases", sa.Column("task", sa.String(length=16))),
    ("phases", sa.Column("positive_label", sa.Text())),
    ("phases", sa.Column("classes", JSON)),
    ("phases", sa.Column("pseudonym_key", sa.String(length=32), server_default=sa.text("''"), nullable=False)),
    ("phases", sa.Column("deleted_gold_version", sa.Integer(), server_default=sa.text("0"), nullable=False)),
    ("gold_versions", sa.Column("task", sa.String(length=16), server_default=sa.text("''"), nullable=False)),
    ("gold_versions", sa.Column("positive_label", sa.Text())),
    ("teams", sa.Column("captain_id", ID)),
    ("teams", sa.Column("merged_into_id", ID)),
    ("teams", sa.Column("disqualified_at", UTCDateTime())),
    ("teams", sa.Column("disqualified_reason", sa.Text())),
    ("submissions", sa.Column("test", sa.Boolean(), server_default=NO, nullable=False)),
    ("submissions", sa.Column("unofficial", sa.Boolean(), server_default=NO, nullable=False)),
    ("submissions", sa.Column("sent_team_id", ID)),
    ("submissions", sa.Column("file_removed_at", UTCDateTime())),
)
CONSTRAINTS = {  # clauses of single columns
    ("phases", "late"): "CONSTRAINT ck_phases_late CHECK (late IN ('refuse', 'unofficial'))",
    ("phases", "task"): f"CONSTRAINT ck_phases_task CHECK (task {TASKS})",
    ("teams", "captain_id"): "CONSTRAINT fk_teams_captain_id REFERENCES users (id)",
    ("teams", "merged_into_id"): "CONSTRAINT fk_teams_merged_into_id REFERENCES teams (id)",
}
# By these a board finds the teams that it marks.
BOARD_INDEXES = (
    ("ix_teams_marked", "teams", "disqualified_at IS NOT NULL"),
    ("ix_registrations_barred", "registrations", "status = 'barred'"),
)
# Teams are deleted and merged now, so the indexes by phase and team begin with the team.
TEAM_INDEXES = (("submissions", "id"), ("quota_entries", "day"))
APPEND_ONLY = "audit entries cannot be changed or deleted"
# INSERT OR REPLACE deletes a row without running the trigger for deletions.
REFUSE_REPLACEMENT = """
    CREATE TRIGGER audit_entries_refuse_replacement BEFORE INSERT ON audit_entries
    WHEN EXISTS (SELECT 1 FROM audit_entries WHERE id = NEW.id)
"""
# The first member of a team becomes its captain; whoever is in a team has been since registering.
CAPTAINS = """
    UPDATE teams SET captain_id = (
        SELECT user_id FROM registrations WHERE registrations.team_id = teams.id ORDER BY registrations.id LIMIT 1
    )
"""
MEMBERSHIPS = """
    INSERT INTO team_memberships (id, team_id, user_id, joined_at)
    SELECT id, team_id, user_id, created_at FROM registrations
"""
# All gold of a challenge was read with the rules of the challenge.
GOLD_RULES = """
    UPDATE gold_versions SET (task, positive_label) = (
        SELECT challenges.task, challenges.positive_label FROM challenges
        JOIN phases ON phases.challenge_id = challenges.id WHERE phases.id = gold_versions.phase_id
    )
"""
# Classes that nobody declared belong to each gold from now on.
INFERRED_CLASSES = """
    UPDATE challenges SET classes = NULL WHERE EXISTS (
        SELECT 1 FROM gold_versions JOIN phases ON phases.id = gold_versions.phase_id
        WHERE phases.challenge_id = challenges.id
        AND gold_versions.activated_at IS NOT NULL AND NOT gold_versions.classes_declared
    )
"""


def upgrade() -> None:
    _create_tables()
    for table, column in COLUMNS:
        _add_column(table, column)
    op.create_index(op.f("ix_challenges_lineage_id"), "challenges", ["lineage_id"])
    _change_recipe_index(own=True)
    _extend_registrations()
    for name, table, condition in BOARD_INDEXES:
        where = sa.text(condition)
        op.create_index(name, table, ["challenge_id"], sqlite_where=where, postgresql_where=where)
    _replace_team_indexes("phase", "team")
    op.execute(CAPTAINS)
    op.execute(MEMBERSHIPS)
    op.execute(GOLD_RULES)
    op.execute(INFERRED_CLASSES)
    _draw_pseudonym_keys()
    _protect_audit_entries()


def downgrade() -> None:
    op.drop_table("audit_entries")
    if op.get_context().dialect.name == "postgresql":
        op.execute("DROP FUNCTION refuse_audit_change")
    _replace_team_indexes("team", "phase")
    for name, table, _ in BOARD_INDEXES:
        op.drop_index(name, table)
    op.execute("DELETE FROM registrations WHERE team_id IS NULL OR status = 'ended'")
    op.execute("DELETE FROM recipes WHERE phase_id IS NOT NULL")
    _reduce_registrations()
    op.drop_index(op.f("ix_challenges_lineage_id"), "challenges")
    op.drop_index("uq_recipes_active_of_phase", "recipes")
    op.drop_index("uq_recipes_active", "recipes")
    for table, column in reversed(COLUMNS):
        op.execute(f"ALTER TABLE {table} DROP COLUMN {column.name}")
    _change_recipe_index(own=False)
    for table in ("quota_grants", "invitations", "team_merges", "team_memberships", "challenge_files", "announcements"):
        op.drop_table(table)
    for table in ("former_phase_slugs", "former_challenge_slugs", "challenge_terms", "password_resets", "sessions"):
        op.drop_table(table)


def _replace_team_indexes(before: str, after: str) -> None:
    """Let the indexes that begin with the one begin with the other."""
    for table, last in TEAM_INDEXES:
        op.drop_index(f"ix_{table}_{before}_{after}", table)
        op.create_index(f"ix_{table}_{after}_{before}", table, [f"{after}_id", f"{before}_id", last])


def _draw_pseudonym_keys() -> None:
    """Give each phase a secret of its own."""
    connection = op.get_bind()
    set_key = sa.text("UPDATE phases SET pseudonym_key = :key WHERE id = :id")
    for phase in connection.scalars(sa.text("SELECT id FROM phases")).all():
        connection.execute(set_key, {"key": token_hex(16), "id": phase})


def _add_column(table: str, column: "sa.Column[Any]") -> None:
    """Add a column together with its constraint, which SQLite accepts only in this form."""
    clause = CONSTRAINTS.get((table, column.name), "")
    dialect = op.get_context().dialect
    parts = [column.name, column.type.compile(dialect=dialect)]
    if isinstance(column.server_default, sa.DefaultClause):
        default = column.server_default.arg
        parts += ["DEFAULT", default if isinstance(default, str) else str(default.compile(dialect=dialect))]
    parts += [] if column.nullable else ["NOT NULL"]
    op.execute(f"ALTER TABLE {table} ADD COLUMN {' '.join([*parts, clause])}")


def _change_recipe_index(*, own: bool) -> None:
    """The one active recipe: with `own`, of a challenge and of each phase that has its own."""
    if own:
        op.drop_index("uq_recipes_active", "recipes")
    of_phase = " AND phase_id IS NOT NULL"
    wanted = [("uq_recipes_active", "challenge_id", " AND phase_id IS NULL" if own else "")]
    wanted += [("uq_recipes_active_of_phase", "phase_id", of_phase)] if own else []
    for name, column, more in wanted:
        where = sa.text(f"status = 'active'{more}")
        op.create_index(name, "recipes", [column], unique=True, sqlite_where=where, postgresql_where=where)


def _extend_registrations() -> None:
    with _registrations("'approved', 'pending', 'barred', 'ended'") as batch:
        batch.alter_column("team_id", existing_type=ID, nullable=True)
        batch.add_column(sa.Column("bound_team_id", ID))
        batch.add_column(sa.Column("terms_version", sa.Integer()))
        batch.add_column(sa.Column("terms_accepted_at", UTCDateTime()))
        batch.add_column(sa.Column("fields", JSON, server_default=sa.text("'{}'"), nullable=False))
        batch.add_column(sa.Column("invitation_id", ID))
        batch.create_foreign_key(op.f("fk_registrations_bound_team_id"), "teams", ["bound_team_id"], ["id"])
        batch.create_foreign_key(
            op.f("fk_registrations_invitation_id"), "invitations", ["invitation_id"], ["id"], ondelete="SET NULL"
        )


def _reduce_registrations() -> None:
    with _registrations("'approved', 'pending', 'barred'") as batch:
        for name in ("fk_registrations_bound_team_id", "fk_registrations_invitation_id"):
            batch.drop_constraint(op.f(name), type_="foreignkey")
        for name in ("bound_team_id", "terms_version", "terms_accepted_at", "fields", "invitation_id"):
            batch.drop_column(name)
        batch.alter_column("team_id", existing_type=ID, nullable=False)


@contextmanager
def _registrations(statuses: str) -> Iterator[BatchOperations]:
    """Alter the table of registrations, whose status is one of these afterwards; SQLite copies the table."""
    name = op.f(STATUS_CHECK)
    with op.batch_alter_table("registrations") as batch:
        batch.drop_constraint(name, type_="check")
        yield batch
        batch.create_check_constraint(name, sa.text(f"status IN ({statuses})"))


def _protect_audit_entries() -> None:
    if op.get_context().dialect.name == "sqlite":
        for verb in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER audit_entries_refuse_{verb.lower()} BEFORE {verb} ON audit_entries "
                f"BEGIN SELECT RAISE(ABORT, '{APPEND_ONLY}'); END"
            )
        op.execute(f"{REFUSE_REPLACEMENT} BEGIN SELECT RAISE(ABORT, '{APPEND_ONLY}'); END")
        return
    op.execute(
        "CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{APPEND_ONLY}'; END $$"
    )
    op.execute(
        "CREATE TRIGGER audit_entries_refuse_change BEFORE UPDATE OR DELETE ON audit_entries "
        "FOR EACH ROW EXECUTE FUNCTION refuse_audit_change()"
    )
    op.execute(
        "CREATE TRIGGER audit_entries_refuse_truncation BEFORE TRUNCATE ON audit_entries "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change()"
    )


def _create_tables() -> None:
    _create_account_tables()
    _create_challenge_tables()
    _create_team_tables()
    op.create_table(
        "audit_entries",
        _id(),
        sa.Column("at", UTCDateTime(), nullable=False),
        sa.Column("actor_id", ID),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("action", SLUG, nullable=False),
        sa.Column("challenge_id", ID),
        sa.Column("phase_id", ID),
        sa.Column("team_id", ID),
        sa.Column("user_id", ID),
        sa.Column("object_type", sa.String(length=16)),
        sa.Column("object_id", ID),
        sa.Column("object_name", NAME),
        sa.Column("changes", JSON, nullable=False),
        sa.Column("reason", sa.Text()),
        _key("audit_entries"),
    )
    for column in ("challenge_id", "object_id", "actor_id"):
        op.create_index(f"ix_audit_entries_{column}_id", "audit_entries", [column, "id"])


def _create_account_tables() -> None:
    op.create_table(
        "sessions",
        _id(),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("secret_hash", HASH, nullable=False),
        sa.Column("created_at", UTCDateTime(), nullable=False),
        sa.Column("expires_at", UTCDateTime(), nullable=False),
        sa.Column("ended_at", UTCDateTime()),
        _reference("sessions", "user_id", "users", "CASCADE"),
        _key("sessions"),
    )
    op.create_table(
        "password_resets",
        _id(),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("secret_hash", HASH, nullable=False),
        sa.Column("created_by", ID),
        sa.Column("created_at", UTCDateTime(), nullable=False),
        sa.Column("expires_at", UTCDateTime(), nullable=False),
        sa.Column("used_at", UTCDateTime()),
        _reference("password_resets", "user_id", "users", "CASCADE"),
        _key("password_resets"),
    )
    for table in ("sessions", "password_resets"):
        op.create_index(op.f(f"ix_{table}_user_id"), table, ["user_id"])


def _create_challenge_tables() -> None:
    op.create_table(
        "challenge_terms",
        sa.Column("challenge_id", ID, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("created_at", UTCDateTime(), nullable=False),
        _reference("challenge_terms", "challenge_id", "challenges", "CASCADE"),
        _key("challenge_terms", "challenge_id", "version"),
    )
    op.create_table(
        "former_challenge_slugs",
        sa.Column("slug", SLUG, nullable=False),
        sa.Column("challenge_id", ID),
        _reference("former_challenge_slugs", "challenge_id", "challenges", "SET NULL"),
        _key("former_challenge_slugs", "slug"),
    )
    op.create_index(op.f("ix_former_challenge_slugs_challenge_id"), "former_challenge_slugs", ["challenge_id"])
    op.create_table(
        "former_phase_slugs",
        sa.Column("challenge_id", ID, nullable=False),
        sa.Column("slug", SLUG, nullable=False),
        sa.Column("phase_id", ID),
        _reference("former_phase_slugs", "challenge_id", "challenges", "CASCADE"),
        _reference("former_phase_slugs", "phase_id", "phases", "SET NULL"),
        _key("former_phase_slugs", "challenge_id", "slug"),
    )
    op.create_index(op.f("ix_former_phase_slugs_phase_id"), "former_phase_slugs", ["phase_id"])
    op.create_table(
        "announcements",
        _id(),
        sa.Column("challenge_id", ID, nullable=False),
        sa.Column("title", NAME, nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        *_created("announcements"),
        sa.Column("edited_at", UTCDateTime()),
        _reference("announcements", "challenge_id", "challenges", "CASCADE"),
        _key("announcements"),
    )
    op.create_index(op.f("ix_announcements_challenge_id"), "announcements", ["challenge_id"])
    op.create_table(
        "challenge_files",
        _id(),
        sa.Column("challenge_id", ID, nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("licence", NAME, nullable=False),
        sa.Column("audience", sa.String(length=16), nullable=False),
        sa.Column("media_type", NAME, nullable=False),
        sa.Column("file_key", sa.String(length=100), nullable=False),
        sa.Column("sha256", HASH, nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        *_created("challenge_files"),
        sa.CheckConstraint("audience IN ('public', 'teams')", name=op.f("ck_challenge_files_audience")),
        sa.UniqueConstraint("challenge_id", "name", name=op.f("uq_challenge_files_challenge_id_name")),
        _reference("challenge_files", "challenge_id", "challenges", "CASCADE"),
        _key("challenge_files"),
    )
    op.create_index(op.f("ix_challenge_files_file_key"), "challenge_files", ["file_key"])


def _create_team_tables() -> None:
    op.create_table(
        "team_memberships",
        _id(),
        sa.Column("team_id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("joined_at", UTCDateTime(), nullable=False),
        sa.Column("left_at", UTCDateTime()),
        _reference("team_memberships", "team_id", "teams", "CASCADE"),
        _reference("team_memberships", "user_id", "users", "CASCADE"),
        _key("team_memberships"),
    )
    op.create_index("ix_team_memberships_team_id_user_id", "team_memberships", ["team_id", "user_id"])
    op.create_index(op.f("ix_team_memberships_user_id"), "team_memberships", ["user_id"])
    op.create_table(
        "team_merges",
        _id(),
        sa.Column("team_id", ID, nullable=False),
        sa.Column("other_team_id", ID, nullable=False),
        sa.Column("proposed_by", ID),
        sa.Column("proposed_at", UTCDateTime(), nullable=False),
        sa.Column("agreed_at", UTCDateTime()),
        sa.Column("withdrawn_at", UTCDateTime()),
        _reference("team_merges", "team_id", "teams", "CASCADE"),
        _reference("team_merges", "other_team_id", "teams", "CASCADE"),
        _reference("team_merges", "proposed_by", "users"),
        _key("team_merges"),
    )
    for column in ("team_id", "other_team_id"):
        op.create_index(op.f(f"ix_team_merges_{column}"), "team_merges", [column])
    op.create_table(
        "invitations",
        _id(),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("challenge_id", ID),
        sa.Column("team_id", ID),
        sa.Column("code_hash", HASH, nullable=False),
        sa.Column("note", NAME, server_default=sa.text("''"), nullable=False),
        sa.Column("max_uses", sa.Integer()),
        sa.Column("uses", sa.Integer(), server_default=sa.text("0"), nullable=False),
        *_created("invitations"),
        sa.Column("expires_at", UTCDateTime()),
        sa.Column("revoked_at", UTCDateTime()),
        sa.CheckConstraint("kind IN ('site', 'challenge', 'team')", name=op.f("ck_invitations_kind")),
        sa.UniqueConstraint("code_hash", name=op.f("uq_invitations_code_hash")),
        _reference("invitations", "challenge_id", "challenges", "CASCADE"),
        _reference("invitations", "team_id", "teams", "CASCADE"),
        _key("invitations"),
    )
    for column in ("challenge_id", "team_id"):
        op.create_index(op.f(f"ix_invitations_{column}"), "invitations", [column])
    op.create_table(
        "quota_grants",
        _id(),
        sa.Column("phase_id", ID, nullable=False),
        sa.Column("team_id", ID, nullable=False),
        sa.Column("per_day", sa.Integer(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        *_created("quota_grants"),
        _reference("quota_grants", "phase_id", "phases", "CASCADE"),
        _reference("quota_grants", "team_id", "teams", "CASCADE"),
        _key("quota_grants"),
    )
    op.create_index("ix_quota_grants_phase_id_team_id", "quota_grants", ["phase_id", "team_id"])


def _id() -> "sa.Column[str]":
    return sa.Column("id", ID, nullable=False)


def _key(table: str, *columns: str) -> sa.PrimaryKeyConstraint:
    return sa.PrimaryKeyConstraint(*(columns or ("id",)), name=op.f(f"pk_{table}"))


def _reference(table: str, column: str, parent: str, ondelete: str | None = None) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{parent}.id"], name=op.f(f"fk_{table}_{column}"), ondelete=ondelete)


def _created(table: str) -> "tuple[sa.Column[Any], sa.Column[Any], sa.ForeignKeyConstraint]":
    """Who created a row, and when."""
    created_at: sa.Column[Any] = sa.Column("created_at", UTCDateTime(), nullable=False)
    return sa.Column("created_by", ID), created_at, _reference(table, "created_by", "users")
