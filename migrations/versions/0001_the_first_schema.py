"""The first schema: people, challenges, gold, teams, submissions, the work list, scores and the quota ledger."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "users",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("email", sa.String(length=320), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("password_hash", sa.String(length=500), nullable=True),
        sa.Column("admin", sa.Boolean(), nullable=False),
        sa.Column("approved", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
        sa.UniqueConstraint("email", name=op.f("uq_users_email")),
    )
    op.create_table(
        "challenges",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("slug", sa.String(length=64), nullable=False),
        sa.Column("title", sa.String(length=200), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("task", sa.String(length=16), nullable=False),
        sa.Column("positive_label", sa.Text(), nullable=True),
        sa.Column("classes", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("timezone", sa.String(length=64), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("visibility", sa.String(length=16), nullable=False),
        sa.Column("registration", sa.String(length=16), nullable=False),
        sa.Column("created_by", sa.String(length=32), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "registration IN ('open', 'approval', 'invitation')", name=op.f("ck_challenges_registration")
        ),
        sa.CheckConstraint("status IN ('draft', 'published')", name=op.f("ck_challenges_status")),
        sa.CheckConstraint("task IN ('binary', 'multiclass', 'multilabel')", name=op.f("ck_challenges_task")),
        sa.CheckConstraint("visibility IN ('public', 'private')", name=op.f("ck_challenges_visibility")),
        sa.ForeignKeyConstraint(["created_by"], ["users.id"], name=op.f("fk_challenges_created_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_challenges")),
        sa.UniqueConstraint("slug", name=op.f("uq_challenges_slug")),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("user_id", sa.String(length=32), nullable=False),
        sa.Column("secret_hash", sa.String(length=64), nullable=False),
        sa.Column("scopes", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_tokens_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tokens")),
    )
    with op.batch_alter_table("tokens", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_tokens_user_id"), ["user_id"], unique=False)

    op.create_table(
        "organizers",
        sa.Column("challenge_id", sa.String(length=32), nullable=False),
        sa.Column("user_id", sa.String(length=32), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.CheckConstraint("role IN ('owner', 'editor', 'viewer')", name=op.f("ck_organizers_role")),
        sa.ForeignKeyConstraint(
            ["challenge_id"], ["challenges.id"], name=op.f("fk_organizers_challenge_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_organizers_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("challenge_id", "user_id", name=op.f("pk_organizers")),
    )
    with op.batch_alter_table("organizers", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_organizers_user_id"), ["user_id"], unique=False)

    op.create_table(
        "phases",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("challenge_id", sa.String(length=32), nullable=False),
        sa.Column("slug", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("opens_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("closes_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("quota", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("leaderboard", sa.String(length=16), nullable=False),
        sa.Column("reports", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("anonymous", sa.Boolean(), nullable=False),
        sa.Column("released_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("leaderboard IN ('public', 'hidden', 'after_close')", name=op.f("ck_phases_leaderboard")),
        sa.ForeignKeyConstraint(
            ["challenge_id"], ["challenges.id"], name=op.f("fk_phases_challenge_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_phases")),
        sa.UniqueConstraint("challenge_id", "slug", name=op.f("uq_phases_challenge_id_slug")),
    )
    op.create_table(
        "recipes",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("challenge_id", sa.String(length=32), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("body", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("status IN ('draft', 'active', 'retired')", name=op.f("ck_recipes_status")),
        sa.ForeignKeyConstraint(
            ["challenge_id"], ["challenges.id"], name=op.f("fk_recipes_challenge_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_recipes")),
        sa.UniqueConstraint("challenge_id", "version", name=op.f("uq_recipes_challenge_id_version")),
    )
    with op.batch_alter_table("recipes", schema=None) as batch_op:
        batch_op.create_index(
            "uq_recipes_active",
            ["challenge_id"],
            unique=True,
            sqlite_where=sa.text("status = 'active'"),
            postgresql_where=sa.text("status = 'active'"),
        )

    op.create_table(
        "teams",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("challenge_id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("name_key", sa.String(length=200), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["challenge_id"], ["challenges.id"], name=op.f("fk_teams_challenge_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_teams")),
        sa.UniqueConstraint("challenge_id", "name_key", name=op.f("uq_teams_challenge_id_name_key")),
    )
    op.create_table(
        "gold_versions",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("phase_id", sa.String(length=32), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("file_key", sa.String(length=100), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("format", sa.String(length=32), nullable=False),
        sa.Column("gzipped", sa.Boolean(), nullable=False),
        sa.Column("instances", sa.Integer(), nullable=False),
        sa.Column("classes", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("classes_declared", sa.Boolean(), nullable=False),
        sa.Column("has_splits", sa.Boolean(), nullable=False),
        sa.Column("train_frequencies", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("class_weights", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("notes", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("created_by", sa.String(length=32), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("activated_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "status IN ('draft', 'activating', 'active', 'retired', 'failed')", name=op.f("ck_gold_versions_status")
        ),
        sa.ForeignKeyConstraint(["created_by"], ["users.id"], name=op.f("fk_gold_versions_created_by")),
        sa.ForeignKeyConstraint(
            ["phase_id"], ["phases.id"], name=op.f("fk_gold_versions_phase_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_gold_versions")),
        sa.UniqueConstraint("phase_id", "version", name=op.f("uq_gold_versions_phase_id_version")),
    )
    with op.batch_alter_table("gold_versions", schema=None) as batch_op:
        batch_op.create_index(
            "uq_gold_versions_active",
            ["phase_id"],
            unique=True,
            sqlite_where=sa.text("status = 'active'"),
            postgresql_where=sa.text("status = 'active'"),
        )

    op.create_table(
        "registrations",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("challenge_id", sa.String(length=32), nullable=False),
        sa.Column("user_id", sa.String(length=32), nullable=False),
        sa.Column("team_id", sa.String(length=32), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("status IN ('approved', 'pending', 'barred')", name=op.f("ck_registrations_status")),
        sa.ForeignKeyConstraint(
            ["challenge_id"], ["challenges.id"], name=op.f("fk_registrations_challenge_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_registrations_team_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_registrations_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_registrations")),
        sa.UniqueConstraint("challenge_id", "user_id", name=op.f("uq_registrations_challenge_id_user_id")),
    )
    with op.batch_alter_table("registrations", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_registrations_team_id"), ["team_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_registrations_user_id"), ["user_id"], unique=False)

    op.create_table(
        "submissions",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("phase_id", sa.String(length=32), nullable=False),
        sa.Column("team_id", sa.String(length=32), nullable=False),
        sa.Column("user_id", sa.String(length=32), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("method", sa.String(length=200), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("link", sa.Text(), nullable=True),
        sa.Column("baseline", sa.Boolean(), nullable=False),
        sa.Column("file_key", sa.String(length=100), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("format", sa.String(length=32), nullable=False),
        sa.Column("gzipped", sa.Boolean(), nullable=False),
        sa.Column("submitted_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("problems", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("problem_totals", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("notes", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("failure", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("selected_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("withdrawn_reason", sa.Text(), nullable=True),
        sa.Column("disqualified_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("disqualified_reason", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "status IN ('queued', 'running', 'finished', 'rejected', 'failed', 'cancelled')",
            name=op.f("ck_submissions_status"),
        ),
        sa.ForeignKeyConstraint(["phase_id"], ["phases.id"], name=op.f("fk_submissions_phase_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_submissions_team_id")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_submissions_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_submissions")),
    )
    with op.batch_alter_table("submissions", schema=None) as batch_op:
        batch_op.create_index("ix_submissions_phase_id", ["phase_id", "id"], unique=False)
        batch_op.create_index("ix_submissions_phase_team", ["phase_id", "team_id", "id"], unique=False)

    op.create_table(
        "idempotency_keys",
        sa.Column("user_id", sa.String(length=32), nullable=False),
        sa.Column("key", sa.String(length=255), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("submission_id", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["submission_id"], ["submissions.id"], name=op.f("fk_idempotency_keys_submission_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_idempotency_keys_user_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", "key", name=op.f("pk_idempotency_keys")),
    )
    op.create_table(
        "quota_entries",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("phase_id", sa.String(length=32), nullable=False),
        sa.Column("team_id", sa.String(length=32), nullable=False),
        sa.Column("submission_id", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("day", sa.String(length=10), nullable=False),
        sa.Column("reason", sa.String(length=100), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("kind IN ('reserve', 'charge', 'refund')", name=op.f("ck_quota_entries_kind")),
        sa.ForeignKeyConstraint(
            ["phase_id"], ["phases.id"], name=op.f("fk_quota_entries_phase_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["submission_id"], ["submissions.id"], name=op.f("fk_quota_entries_submission_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_quota_entries_team_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_quota_entries")),
        sa.UniqueConstraint("submission_id", "kind", name=op.f("uq_quota_entries_submission_id_kind")),
    )
    with op.batch_alter_table("quota_entries", schema=None) as batch_op:
        batch_op.create_index("ix_quota_entries_phase_team", ["phase_id", "team_id", "day"], unique=False)

    op.create_table(
        "score_tasks",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("submission_id", sa.String(length=32), nullable=False),
        sa.Column("gold_id", sa.String(length=32), nullable=False),
        sa.Column("recipe_id", sa.String(length=32), nullable=False),
        sa.Column("scorer_version", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("crashes", sa.Integer(), nullable=False),
        sa.Column("interruptions", sa.Integer(), nullable=False),
        sa.Column("not_before", sa.DateTime(timezone=True), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("failure", sa.JSON(none_as_null=True), nullable=True),
        sa.CheckConstraint(
            "status IN ('queued', 'running', 'done', 'failed', 'cancelled')", name=op.f("ck_score_tasks_status")
        ),
        sa.ForeignKeyConstraint(
            ["gold_id"], ["gold_versions.id"], name=op.f("fk_score_tasks_gold_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["recipe_id"], ["recipes.id"], name=op.f("fk_score_tasks_recipe_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["submission_id"], ["submissions.id"], name=op.f("fk_score_tasks_submission_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_score_tasks")),
        sa.UniqueConstraint(
            "submission_id",
            "gold_id",
            "recipe_id",
            "scorer_version",
            name=op.f("uq_score_tasks_submission_id_gold_id_recipe_id_scorer_version"),
        ),
    )
    with op.batch_alter_table("score_tasks", schema=None) as batch_op:
        batch_op.create_index("ix_score_tasks_claim", ["status", "priority", "id"], unique=False)

    op.create_table(
        "scores",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("submission_id", sa.String(length=32), nullable=False),
        sa.Column("gold_id", sa.String(length=32), nullable=False),
        sa.Column("recipe_id", sa.String(length=32), nullable=False),
        sa.Column("scorer_version", sa.Integer(), nullable=False),
        sa.Column("split", sa.String(length=16), nullable=False),
        sa.Column("metrics", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("split IN ('all', 'public', 'private')", name=op.f("ck_scores_split")),
        sa.ForeignKeyConstraint(["gold_id"], ["gold_versions.id"], name=op.f("fk_scores_gold_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["recipe_id"], ["recipes.id"], name=op.f("fk_scores_recipe_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["submission_id"], ["submissions.id"], name=op.f("fk_scores_submission_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_scores")),
        sa.UniqueConstraint(
            "submission_id",
            "gold_id",
            "recipe_id",
            "scorer_version",
            "split",
            name=op.f("uq_scores_submission_id_gold_id_recipe_id_scorer_version_split"),
        ),
    )


def downgrade() -> None:
    op.drop_table("scores")
    with op.batch_alter_table("score_tasks", schema=None) as batch_op:
        batch_op.drop_index("ix_score_tasks_claim")

    op.drop_table("score_tasks")
    with op.batch_alter_table("quota_entries", schema=None) as batch_op:
        batch_op.drop_index("ix_quota_entries_phase_team")

    op.drop_table("quota_entries")
    op.drop_table("idempotency_keys")
    with op.batch_alter_table("submissions", schema=None) as batch_op:
        batch_op.drop_index("ix_submissions_phase_team")
        batch_op.drop_index("ix_submissions_phase_id")

    op.drop_table("submissions")
    with op.batch_alter_table("registrations", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_registrations_user_id"))
        batch_op.drop_index(batch_op.f("ix_registrations_team_id"))

    op.drop_table("registrations")
    with op.batch_alter_table("gold_versions", schema=None) as batch_op:
        batch_op.drop_index(
            "uq_gold_versions_active",
            sqlite_where=sa.text("status = 'active'"),
            postgresql_where=sa.text("status = 'active'"),
        )

    op.drop_table("gold_versions")
    op.drop_table("teams")
    with op.batch_alter_table("recipes", schema=None) as batch_op:
        batch_op.drop_index(
            "uq_recipes_active",
            sqlite_where=sa.text("status = 'active'"),
            postgresql_where=sa.text("status = 'active'"),
        )

    op.drop_table("recipes")
    op.drop_table("phases")
    with op.batch_alter_table("organizers", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_organizers_user_id"))

    op.drop_table("organizers")
    with op.batch_alter_table("tokens", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_tokens_user_id"))

    op.drop_table("tokens")
    op.drop_table("challenges")
    op.drop_table("users")
