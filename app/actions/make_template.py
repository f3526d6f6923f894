"""Make the file that a participant fills in: ids sorted by code point, no labels, no split."""

from pathlib import Path
from typing import Any, cast

from app.actions.access import Caller, see_phase
from app.actions.ask_about_gold import NamedGold, ask_about_gold, named_gold
from app.children import Children
from app.errors import BadRequest, NoGold
from app.files import Files
from app.scoring.metric import SCORES
from app.scoring.recipe import parse_recipe
from app.scoring.task import Task
from app.store import challenges, gold
from app.store.session import Database, ReadSession


def template_source(session: ReadSession, caller: Caller, slug: str, phase_slug: str) -> tuple[NamedGold, bool]:
    """The gold whose ids the template lists, and whether a metric of the recipe needs scores; raises NoGold."""
    phase = see_phase(session, caller, slug, phase_slug)
    version = gold.active(session, phase.id)
    if version is None:
        raise NoGold
    recipe = challenges.active_recipe(session, phase.challenge_id)
    challenge = phase.challenge
    rules: dict[str, Any] = {"positive_label": challenge.positive_label, "classes": version.classes}
    metrics = parse_recipe(recipe.body, cast("Task", challenge.task), **rules, stored=True).metrics
    return named_gold(version, challenge), any(SCORES in call.metric.needs for call in metrics)


def make_template(
    db: Database,
    files: Files,
    children: Children,
    gold: NamedGold,
    *,
    format_name: str,
    scores: bool,
    target: Path,
) -> None:
    """Have a child write the template to `target`; raises BadRequest where it cannot be made."""
    request = {"kind": "template", "format": format_name, "scores": scores, "target": str(target)}
    answer = ask_about_gold(db, files, children, gold, request)
    if not answer["valid"]:
        raise BadRequest(answer["detail"], remedy=answer["remedy"])
