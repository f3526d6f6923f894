"""Build the file that a participant fills in: ids sorted by code point, without labels and splits."""

from pathlib import Path

from app.actions.access import Caller, is_organizer, load_visible_phase
from app.actions.challenges.change_recipe import parse_stored_recipe
from app.actions.challenges.resolve_times import before_opening
from app.actions.scoring_tasks.scoring_request import GoldReference, gold_reference, send_scoring_request
from app.errors import BadRequest, NoGold
from app.files import FileStore
from app.scoring.declaration.metric import SCORES
from app.scoring_processes import ScoringProcesses
from app.scoring_processes.messages import Refusal, WriteTemplate
from app.store import clock
from app.store.queries import challenges, gold
from app.store.session import Database, ReadSession


def template_source(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str
) -> tuple[GoldReference, bool, bool]:
    """The gold whose ids the template lists, whether a metric needs scores, and whether the caller is an organizer.

    Raises NoGold, and NoOpenPhase until the phase opens, unless the caller organizes the challenge.
    """
    phase = load_visible_phase(session, caller, slug, phase_slug)
    organizer = is_organizer(session, caller, phase.challenge)
    if clock.now(session) < phase.opens_at and not organizer:
        raise before_opening(phase, "see its ids")
    version = gold.active(session, phase.id)
    if version is None:
        raise NoGold
    recipe = parse_stored_recipe(phase, challenges.active_recipe(session, phase))
    return gold_reference(version), any(SCORES in call.metric.needs for call in recipe.metrics), organizer


def make_template(
    db: Database,
    files: FileStore,
    processes: ScoringProcesses,
    gold: GoldReference,
    *,
    format_name: str,
    scores: bool,
    target: Path,
) -> None:
    """Have a scoring process write the template to `target`; raises BadRequest if the format cannot hold it."""
    request = WriteTemplate(gold.source, format_name, scores, target)
    reply = send_scoring_request(db, files, processes, gold, request)
    if isinstance(reply, Refusal):
        raise BadRequest(reply.detail, remedy=reply.remedy)
