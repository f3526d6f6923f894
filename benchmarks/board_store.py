"""Fills a database with the scored submissions of a phase: many teams, many submissions of each, values of their own."""

import random
from typing import Any

from sqlalchemy import insert, text

from app.actions.challenges.change_recipe import normalize_recipe, recipe_fingerprint
from app.scoring import SCORER_VERSION
from app.store import migrate
from app.store.queries import ranked_values
from app.store.queries.label_rules import LabelRules
from app.store.session import Database, WriteSession
from app.store.tables import Challenge, Phase, Recipe, Score, Submission, Team, User
from app.store.types import new_id, utcnow
from tests.store.sample_rows import add_row, gold_version, submission

METRICS = ["f1_macro", "accuracy", "mcc", "precision_macro", "recall_macro"]
SLUG = "boards"
BATCH = 2000


def fill(db: Database, teams: int, entries: int, slug: str = SLUG) -> None:
    """A published challenge in which each team has this many finished submissions of five metrics."""
    draw = random.Random(1)
    with db.write() as session:
        key, names = _challenge(session, slug, teams)
    order = names * entries
    for start in range(0, len(order), BATCH):
        with db.write(durable=False) as session:
            _submissions(session, key, order[start : start + BATCH], draw)
    if not db.sqlite:  # as autovacuum does sooner or later; SQLite does nothing like it
        with db.engine().connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("VACUUM ANALYZE"))


def _challenge(session: WriteSession, slug: str, teams: int) -> tuple[dict[str, str], list[str]]:
    user = add_row(session, User(email=f"{slug}@example.org", name="Ada"))
    texts = {"title": "Boards", "description": "", "task": "multiclass", "timezone": "UTC", "slug": slug}
    policy = {"status": "published", "visibility": "public", "registration": "open"}
    challenge = add_row(session, Challenge(created_by=user, **texts, **policy))
    ranking = {"primary": METRICS[0], "metrics": METRICS}
    body, parsed = normalize_recipe(ranking, LabelRules("multiclass", None, None))
    recipe = Recipe(challenge_id=challenge, version=1, status="active", body=body)
    recipe.fingerprint = recipe_fingerprint(parsed)
    recipe_id = add_row(session, recipe)
    window = {"position": 0, "opens_at": utcnow(), "quota": {}, "leaderboard": "public", "reports": ["scores"]}
    phase = add_row(
        session, Phase(challenge_id=challenge, slug="main", name="main", scorer_version=SCORER_VERSION, **window)
    )
    gold = add_row(session, gold_version(phase, created_by=user))
    rows = [
        {"id": new_id(), "challenge_id": challenge, "name": f"Team {number}", "name_key": f"team {number}"}
        for number in range(teams)
    ]
    session.connection().execute(insert(Team.__table__), rows)
    return {"user": user, "phase": phase, "gold": gold, "recipe": recipe_id}, [row["id"] for row in rows]


def _submissions(session: WriteSession, key: dict[str, str], teams: list[str], draw: random.Random) -> None:
    connection, table = session.connection(), Submission.__table__
    sent: list[dict[str, Any]] = []
    for team in teams:
        row = submission(key["phase"], team, key["user"], status="finished", id=new_id(), problem_totals={})
        sent.append({name: value for name, value in vars(row).items() if name in table.c})
    connection.execute(insert(table), sent)
    shared = {"gold_id": key["gold"], "recipe_id": key["recipe"], "scorer_version": SCORER_VERSION, "split": "all"}
    scores = [
        shared | {"submission_id": row["id"], "metrics": {name: {"value": draw.random()} for name in METRICS}}
        for row in sent
    ]
    connection.execute(insert(Score.__table__), scores)
    ranked_values.rewrite(session, [row["id"] for row in sent])


def migrated(db_settings: Any) -> Database:
    """A new database at the newest revision."""
    migrate.upgrade(db_settings)
    return Database(db_settings)
