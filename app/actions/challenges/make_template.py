"""Make the file that a participant fills in: ids sorted by code point, no labels, no split."""

from pathlib import Path
from typing import Any, cast

from app.actions.access import Caller, organizes, see_phase
from app.actions.scoring_tasks.scoring_request import NamedGold, ask_about_gold, named_gold
from app.errors import BadRequest, NoGold, NoOpenPhase
from app.files import Files
from app.scoring.declaration.metric import SCORES
from app.scoring.declaration.recipe import parse_recipe
from app.scoring.declaration.task import Task
from app.scoring_processes import Children
from app.store import clock
from app.store.queries import challenges, gold
from app.store.session import Database, ReadSession
from app.store.types import moment_text


def template_source(session: ReadSession, caller: Caller, slug: str, phase_slug: str) -> tuple[NamedGold, bool, bool]:
    """The gold whose ids the template lists, whether a metric of the recipe needs scores, and whether an organizer asks.

    Raises NoGold, and NoOpenPhase for who does not organize the challenge, until the phase opens.
    """
    phase = see_phase(session, caller, slug, phase_slug)
    organizer = organizes(session, caller, phase.challenge)
    if clock.now(session) < phase.opens_at and not organizer:
        opens_at = moment_text(phase.opens_at)
        raise NoOpenPhase(
            f"The phase '{phase.slug}' opens at {opens_at}; until then its ids are for the organizers alone.",
            remedy="Ask again once it has opened.",
            opens_at=opens_at,
        )
    version = gold.active(session, phase.id)
    if version is None:
        raise NoGold
    recipe = challenges.active_recipe(session, phase.challenge_id)
    challenge = phase.challenge
    rules: dict[str, Any] = {"positive_label": challenge.positive_label, "classes": version.classes}
    metrics = parse_recipe(recipe.body, cast("Task", challenge.task), **rules, stored=True).metrics
    return named_gold(version, challenge), any(SCORES in call.metric.needs for call in metrics), organizer


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
