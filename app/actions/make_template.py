"""Make the file that a participant fills in: ids in gold order, no labels, no split."""

from pathlib import Path

from app.actions.access import Caller, see_phase
from app.actions.upload_gold import request_of
from app.children import Children
from app.errors import NoGold
from app.files import Files
from app.store import gold
from app.store.session import ReadSession
from app.store.tables import GoldVersion, Phase


def template_source(session: ReadSession, caller: Caller, slug: str, phase_slug: str) -> tuple[Phase, GoldVersion]:
    """The phase and the gold whose ids the template lists; raises NoGold."""
    phase = see_phase(session, caller, slug, phase_slug)
    version = gold.active(session, phase.id)
    if version is None:
        raise NoGold
    return phase, version


def make_template(
    files: Files, children: Children, phase: Phase, version: GoldVersion, *, format_name: str, target: Path
) -> None:
    """Have a child write the template to `target`."""
    with files.local(version.file_key) as path:
        children.ask(
            {
                "kind": "template",
                "gold": request_of(path, version, phase.challenge),
                "format": format_name,
                "target": str(target),
            }
        )
