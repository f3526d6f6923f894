"""Which systems an item analysis looks at: the rows of a board, or all finished submissions, up to a bound."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from app.actions.access import Caller, load_organized_phase
from app.actions.audit.record import record
from app.actions.challenges.change_recipe import parse_stored_recipe
from app.actions.challenges.upload_gold import stored_file_kind
from app.actions.scoring_tasks.scoring_request import GoldReference, gold_reference
from app.actions.submissions.board_scores import board_scores, split_standings
from app.actions.submissions.score_visibility import resolve_split
from app.errors import Conflict
from app.formats import FileKind
from app.scoring import SCORER_VERSION
from app.store.queries import board_analyses, entry_choice
from app.store.queries.board_versions import BoardVersion, active_version
from app.store.session import ReadSession, WriteSession
from app.store.tables import Phase

MAX_SYSTEMS = 200
"""How many systems are analysed at once."""
MAX_ANSWERS = 20_000_000
"""How many answers are held at once: systems times instances."""
Scope = Literal["board", "all"]


class NothingToAnalyze(Conflict):
    """No system has scores on the active gold yet, so there are no answers to analyse."""

    code = "nothing_to_analyze"
    remedy = "Wait until a submission or a baseline is finished."


@dataclass(frozen=True, slots=True)
class AnalyzedSystem:
    """A submission whose answers are analysed; `rank` is that of its row on the board of the split."""

    submission: str
    team: str
    team_name: str
    baseline: bool
    rank: int | None
    file_key: str
    kind: FileKind


@dataclass(frozen=True, slots=True)
class AnalyzedBoard:
    """The systems of an analysis, and what they are compared with; read in one snapshot."""

    gold: GoldReference
    gold_version: int
    recipe_id: str
    recipe: Mapping[str, Any]
    recipe_version: int
    scorer_version: int
    split: str
    scope: Scope
    systems: Sequence[AnalyzedSystem]
    left_out: int
    """How many further systems were left out because of the bounds."""

    def file_name(self, *of: Any) -> str:
        """The name of a generated file about these systems: a hash of everything that its content depends on."""
        systems = [[each.submission, each.team, each.baseline] for each in self.systems]
        parts = [self.gold.name, self.recipe_id, self.scorer_version, SCORER_VERSION, self.split, systems, of]
        return f"items-{hashlib.sha256(json.dumps(parts).encode()).hexdigest()}"


def load_analyzed_board(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, *, split: str | None, scope: Scope
) -> AnalyzedBoard:
    """The systems of a phase on a split, by default all instances, for organizers; raises NothingToAnalyze.

    `board`: the entry of each team that counts, and all baselines. `all`: every submission with scores that is neither
    withdrawn nor disqualified, and no test. The best rows, or the newest submissions, come first, up to the bounds.
    """
    phase = load_organized_phase(session, caller, slug, phase_slug, writes=False)
    of = active_version(session, phase)
    if of is None:
        raise NothingToAnalyze
    shown = resolve_split(phase, of.gold, split or "all", organizer=True)
    found, names = split_standings(session, phase, of, shown)
    ranks = {row.entry.submission: row.rank for row in found}
    wanted = [row.entry.submission for row in found if row.entry.mark is None]
    if scope == "all":
        wanted, names = _all_submissions(session, phase, of, shown)
    room = max(1, min(MAX_SYSTEMS, MAX_ANSWERS // max(1, of.gold.instances)))
    files = board_analyses.files_of(session, wanted[:room])
    if not files:
        raise NothingToAnalyze
    systems = []
    for row in (files[key] for key in wanted[:room]):
        about = (row.id, row.team_id, names[row.team_id], row.baseline, ranks.get(row.id))
        systems.append(AnalyzedSystem(*about, row.file_key, stored_file_kind(row)))
    return AnalyzedBoard(
        gold=gold_reference(of.gold),
        gold_version=of.gold.version,
        recipe_id=of.recipe.id,
        recipe=of.recipe.body,
        recipe_version=of.recipe.version,
        scorer_version=of.scorer_version,
        split=shown,
        scope=scope,
        systems=systems,
        left_out=len(wanted) - len(systems),
    )


def _all_submissions(
    session: ReadSession, phase: Phase, of: BoardVersion, split: str
) -> tuple[list[str], dict[str, str]]:
    """All submissions with scores, newest first, and the names of their teams by id."""
    primary = parse_stored_recipe(phase, of.recipe).primary
    scores = board_scores(session, phase, of, shown_split=split, ranked_by=primary)
    found = [
        (choice, team)
        for choice, team, mark in entry_choice.scored_and_marked(session, scores, entry_choice.ON_BOARD)
        if mark is None
    ]
    names = {team: choice.team_name for choice, team in found}
    return sorted({choice.submission for choice, _ in found}, reverse=True), names


def record_reading(
    session: WriteSession, caller: Caller, slug: str, phase_slug: str, board: AnalyzedBoard, *, action: str
) -> None:
    """Record that an organizer read what shows gold labels: if they become known, the first question is who had them."""
    phase = load_organized_phase(session, caller, slug, phase_slug, writes=False)
    changes = {"gold": (None, board.gold_version), "split": (None, board.split)}
    record(session, caller, action, challenge=phase.challenge, of=phase, changes=changes)
