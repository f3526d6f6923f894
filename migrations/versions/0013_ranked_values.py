"""Ranking keys of scores beside them, and indexes by which a board reads about as many rows as it shows.

The keys of existing scores are derived here as the program of this revision derives them.
"""

import hashlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import sqlalchemy as sa
from alembic import op

from app.scoring import metrics
from app.scoring.declaration.recipe import parse_recipe

revision = "0013"
down_revision = "0012"

assert metrics  # importing them fills the catalogue that recipes are parsed with

BATCH_ROWS = 1000
INDEXES = (
    ("ix_submissions_off_board", "withdrawn_at IS NOT NULL OR disqualified_at IS NOT NULL", None),
    ("ix_submissions_baseline", "baseline = 1", "baseline"),
    ("ix_submissions_selected", "selected_at IS NOT NULL", None),
)
SCORES = sa.text(
    """
    SELECT scores.id, submission_id, gold_id, recipe_id, scorer_version, split, metrics, team_id, status, baseline
    FROM scores JOIN submissions ON submissions.id = scores.submission_id
    WHERE submission_id > :after AND submission_id <= :last ORDER BY submission_id, scores.id
    """
).columns(metrics=sa.JSON, baseline=sa.Boolean)
COUNT = sa.text(
    """
    INSERT INTO entry_counts (provenance, team_id, entries)
    SELECT provenance, team_id, count(*) FROM ranked_values WHERE team_id IS NOT NULL GROUP BY provenance, team_id
    """
)
LAST_OF_BATCH = sa.text(
    "SELECT max(id) FROM (SELECT id FROM submissions WHERE id > :after ORDER BY id LIMIT :rows) AS batch"
)
RECIPES = sa.text(
    """
    SELECT recipes.id, fingerprint, body, task, positive_label, classes
    FROM recipes JOIN challenges ON challenges.id = recipes.challenge_id
    """
).columns(body=sa.JSON, classes=sa.JSON)


class Rules(NamedTuple):
    """What ranked values take from a recipe."""

    fingerprint: str
    primary: str
    directions: dict[str, str]


def upgrade() -> None:
    ranked_values = op.create_table(
        "ranked_values",
        sa.Column("score_id", sa.String(length=32), nullable=False),
        sa.Column("metric", sa.Text(), nullable=False),
        sa.Column("undefined", sa.Boolean(), nullable=False),
        sa.Column("ranking_key", sa.Double(), nullable=False),
        sa.Column("provenance", sa.String(length=32), nullable=True),
        sa.Column("team_id", sa.String(length=32), nullable=True),
        sa.Column("submission_id", sa.String(length=32), nullable=True),
        sa.ForeignKeyConstraint(
            ["score_id"], ["scores.id"], name=op.f("fk_ranked_values_score_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("score_id", "metric", name=op.f("pk_ranked_values")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "entry_counts",
        sa.Column("provenance", sa.String(length=32), nullable=False),
        sa.Column("team_id", sa.String(length=32), nullable=False),
        sa.Column("entries", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_entry_counts_team_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("provenance", "team_id", name=op.f("pk_entry_counts")),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_entry_counts_team_id"), "entry_counts", ["team_id"])
    _fill(op.get_bind(), ranked_values)
    op.execute(COUNT)
    entry = sa.text("team_id IS NOT NULL")
    columns = ["provenance", "team_id", "undefined", "ranking_key", "submission_id", "score_id"]
    op.create_index("ix_ranked_values_entries", "ranked_values", columns, sqlite_where=entry, postgresql_where=entry)
    op.create_index("ix_submissions_submitted_at", "submissions", ["phase_id", "submitted_at"])
    for name, on_sqlite, on_postgresql in INDEXES:
        where, postgresql_where = sa.text(on_sqlite), sa.text(on_postgresql or on_sqlite)
        op.create_index(name, "submissions", ["phase_id"], sqlite_where=where, postgresql_where=postgresql_where)


def downgrade() -> None:
    for name in ("ix_submissions_submitted_at", *(each[0] for each in INDEXES)):
        op.drop_index(name, table_name="submissions")
    op.drop_table("entry_counts")
    op.drop_table("ranked_values")


def _fill(bind: sa.Connection, table: sa.Table) -> None:
    recipes = {row.id: _rules(row) for row in bind.execute(RECIPES)}
    after = ""
    while last := bind.execute(LAST_OF_BATCH, {"after": after, "rows": BATCH_ROWS}).scalar():
        rows = list(_ranked_values(bind.execute(SCORES, {"after": after, "last": last}), recipes))
        if rows:
            bind.execute(table.insert(), rows)
        after = last


def _rules(recipe: Any) -> Rules:
    classes, positive = recipe.classes, recipe.positive_label
    parsed = parse_recipe(recipe.body, recipe.task, positive_label=positive, classes=classes, stored=True)
    return Rules(recipe.fingerprint, parsed.primary, {call.text: call.metric.direction for call in parsed.metrics})


def _ranked_values(scores: sa.CursorResult[Any], recipes: dict[str, Rules]) -> Iterator[dict[str, Any]]:
    entered: set[tuple[str, str]] = set()  # a submission is one entry, even with scores of several equivalent recipes
    for score in scores:
        rules = recipes[score.recipe_id]
        parts = (score.gold_id, rules.fingerprint, str(score.scorer_version), score.split, rules.primary)
        provenance = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
        is_entry = score.status == "finished" and not score.baseline
        is_entry = is_entry and (score.submission_id, provenance) not in entered
        entered.add((score.submission_id, provenance))
        for metric, direction in rules.directions.items():
            if metric != rules.primary and metric not in score.metrics:
                continue
            entry = is_entry and metric == rules.primary
            undefined, key = _ranking_key(direction, score.metrics.get(metric, {}).get("value"))
            yield {
                "score_id": score.id,
                "metric": metric,
                "undefined": undefined,
                "ranking_key": key,
                "provenance": provenance if entry else None,
                "team_id": score.team_id if entry else None,
                "submission_id": score.submission_id if entry else None,
            }


def _ranking_key(direction: str, value: float | None) -> tuple[bool, float]:
    if value is None or value != value:  # noqa: PLR0124  NaN
        return True, 0.0
    return False, (-value if direction == "higher" else value) + 0.0
