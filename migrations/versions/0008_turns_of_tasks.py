"""Fair scheduling: the lane and sublane of each queued task, and its turn in both."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

WAITING = "status = 'queued' AND priority < 100"
INDEXES = (
    ("ix_score_tasks_turn", ["priority", "turn", "ticket", "status"], WAITING),
    ("ix_score_tasks_lane", ["lane", "turn"], WAITING),
    ("ix_score_tasks_subturn", ["lane", "subturn", "id"], WAITING),
    ("ix_score_tasks_sublane", ["lane", "sublane", "subturn"], WAITING),
    ("ix_score_tasks_served", ["served_turn", "lane"], "served_turn IS NOT NULL"),
)
LANES = f"""
    UPDATE score_tasks SET lane = whose.lane, sublane = whose.sublane
    FROM (
        SELECT submissions.id AS id, CASE WHEN quota_entries.id IS NULL THEN 'organizers' ELSE user_id END AS lane,
               CASE WHEN quota_entries.id IS NULL THEN user_id ELSE submissions.team_id END AS sublane
        FROM submissions LEFT JOIN quota_entries
          ON quota_entries.submission_id = submissions.id AND quota_entries.kind = 'reserve'
    ) AS whose
    WHERE whose.id = submission_id AND {WAITING}
"""  # noqa: S608 - a constant
TURNS = f"""
    UPDATE score_tasks SET turn = place.turn, ticket = score_tasks.id, subturn = place.subturn
    FROM (
        SELECT id, row_number() OVER (PARTITION BY lane ORDER BY id) - 1 AS turn,
               row_number() OVER (PARTITION BY lane, sublane ORDER BY id) - 1 AS subturn
        FROM score_tasks WHERE {WAITING}
    ) AS place
    WHERE place.id = score_tasks.id
"""  # noqa: S608 - a constant


def upgrade() -> None:
    for name in ("lane", "sublane", "ticket"):
        op.add_column("score_tasks", sa.Column(name, sa.String(32), server_default=sa.text("''"), nullable=False))
    for name in ("turn", "subturn"):
        op.add_column("score_tasks", sa.Column(name, sa.Integer(), server_default=sa.text("0"), nullable=False))
    op.add_column("score_tasks", sa.Column("served_turn", sa.Integer(), nullable=True))
    op.execute(LANES)
    op.execute(TURNS)
    for name, columns, condition in INDEXES:
        op.create_index(
            name, "score_tasks", columns, sqlite_where=sa.text(condition), postgresql_where=sa.text(condition)
        )


def downgrade() -> None:
    for name, _, _ in INDEXES:
        op.drop_index(name, "score_tasks")
    for name in ("served_turn", "subturn", "ticket", "turn", "sublane", "lane"):
        op.drop_column("score_tasks", name)
