"""Separate names for baselines, confusable team names, entries on behalf of a team, and the displayed attempts."""

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from alembic import op

from app.store.types import UTCDateTime, new_id
from app.text.confusable_names import look_key

revision = "0007"
down_revision = "0005"

OLD_KEY, NEW_KEY = "uq_teams_challenge_id_name_key", "uq_teams_challenge_id_baseline_name_key"
LOOK_KEY = "uq_teams_challenge_id_look_key"

teams = sa.table(
    "teams",
    *(sa.column(name, sa.String) for name in ("id", "challenge_id", "name", "name_key", "look_key")),
    sa.column("baseline", sa.Boolean),
    sa.column("created_at", UTCDateTime),
)
submissions = sa.table(
    "submissions",
    *(sa.column(name, sa.String) for name in ("id", "team_id", "user_id", "status")),
    *(sa.column(name, sa.Boolean) for name in ("baseline", "on_behalf")),
    sa.column("attempt", sa.Integer),
)
tasks = sa.table(
    "score_tasks",
    *(sa.column(name, sa.String) for name in ("id", "submission_id", "rerun_id")),
    *(sa.column(name, sa.Integer) for name in ("attempt", "priority")),
    sa.column("compared_at", UTCDateTime),
)
registrations = sa.table("registrations", *(sa.column(name, sa.String) for name in ("team_id", "user_id")))
ledger = sa.table("quota_entries", *(sa.column(name, sa.String) for name in ("team_id", "submission_id")))


def upgrade() -> None:
    with op.batch_alter_table("teams") as batch:
        batch.add_column(sa.Column("baseline", sa.Boolean(), server_default=sa.false(), nullable=False))
        batch.add_column(sa.Column("look_key", sa.String(length=400), nullable=True))
        batch.drop_constraint(op.f(OLD_KEY), type_="unique")
        batch.create_unique_constraint(op.f(NEW_KEY), ["challenge_id", "baseline", "name_key"])
        batch.create_unique_constraint(op.f(LOOK_KEY), ["challenge_id", "look_key"])
    op.add_column("submissions", sa.Column("on_behalf", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.add_column("submissions", sa.Column("attempt", sa.Integer(), server_default=sa.text("0"), nullable=False))
    bind = op.get_bind()
    _part_baselines(bind)
    _note_looks(bind)
    _note_organizers(bind)
    _note_attempts(bind)


def _part_baselines(bind: sa.Connection) -> None:
    """Give baselines teams of their own; a team with only baselines becomes a baseline's team."""
    with_baselines = sa.select(submissions.c.team_id).where(submissions.c.baseline)
    members = sa.select(registrations.c.team_id)
    others = sa.select(submissions.c.team_id).where(submissions.c.baseline.is_(False))
    mixed = teams.c.id.in_(members) | teams.c.id.in_(others)
    alone = teams.c.id.in_(with_baselines) & ~mixed
    bind.execute(teams.update().where(alone).values(baseline=True))
    columns = (teams.c.id, teams.c.challenge_id, teams.c.name, teams.c.name_key, teams.c.created_at)
    found = sa.select(*columns).where(teams.c.id.in_(with_baselines), mixed)
    for row in bind.execute(found).mappings().all():
        apart = new_id()
        bind.execute(teams.insert().values(**{**row, "id": apart, "baseline": True}))
        entries = sa.select(submissions.c.id).where(submissions.c.team_id == row["id"], submissions.c.baseline)
        for table, which in (
            (ledger, ledger.c.submission_id.in_(entries)),
            (submissions, submissions.c.id.in_(entries)),
        ):
            bind.execute(table.update().where(which).values(team_id=apart))


def _note_looks(bind: sa.Connection) -> None:
    """Store the visual key of each name. Of existing names that look alike, only the oldest gets the key; all names remain."""
    held: set[tuple[str, str]] = set()
    found = sa.select(teams.c.id, teams.c.challenge_id, teams.c.name).where(teams.c.baseline.is_(False))
    for row in bind.execute(found.order_by(teams.c.id)).all():
        look = look_key(row.name)
        if look and len(look) <= 400 and (row.challenge_id, look) not in held:
            held.add((row.challenge_id, look))
            bind.execute(teams.update().where(teams.c.id == row.id).values(look_key=look))


def _note_organizers(bind: sa.Connection) -> None:
    """Mark entries whose sender is not a member of the team: an organizer sent them on behalf of the team."""
    own = sa.select(registrations.c.user_id).where(
        registrations.c.team_id == submissions.c.team_id, registrations.c.user_id == submissions.c.user_id
    )
    bind.execute(submissions.update().where(~sa.exists(own)).values(on_behalf=True))


def _note_attempts(bind: sa.Connection) -> None:
    """Store the attempts of the first task; 1 if it was rescored since, because the original number is unknown."""
    first = sa.select(sa.func.min(tasks.c.id)).group_by(tasks.c.submission_id)
    again = tasks.c.compared_at.is_not(None) | tasks.c.rerun_id.is_not(None)
    known = sa.case((again, 1), else_=tasks.c.attempt)
    rows: Iterable[Any] = bind.execute(sa.select(tasks.c.submission_id, known).where(tasks.c.id.in_(first))).all()
    for submission_id, attempt in rows:
        bind.execute(submissions.update().where(submissions.c.id == submission_id).values(attempt=attempt))


def downgrade() -> None:
    bind = op.get_bind()
    _join_baselines(bind)
    for name in ("attempt", "on_behalf"):
        op.drop_column("submissions", name)
    with op.batch_alter_table("teams") as batch:
        batch.drop_constraint(op.f(LOOK_KEY), type_="unique")
        batch.drop_constraint(op.f(NEW_KEY), type_="unique")
        batch.drop_column("look_key")
        batch.drop_column("baseline")
        batch.create_unique_constraint(op.f(OLD_KEY), ["challenge_id", "name_key"])


def _join_baselines(bind: sa.Connection) -> None:
    """Return baselines to the team that has their name."""
    apart, named = teams.alias(), teams.alias()
    same = (apart.c.challenge_id == named.c.challenge_id) & (apart.c.name_key == named.c.name_key)
    pairs = sa.select(apart.c.id, named.c.id).join(named, same).where(apart.c.baseline, named.c.baseline.is_(False))
    for baseline, team in bind.execute(pairs).all():
        for table in (submissions, ledger):
            bind.execute(table.update().where(table.c.team_id == baseline).values(team_id=team))
        bind.execute(teams.delete().where(teams.c.id == baseline))
