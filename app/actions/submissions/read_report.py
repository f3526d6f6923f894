"""The detailed report of one submission: as much of it as the phase allows its reader."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.actions.access import Caller
from app.actions.challenges.change_recipe import parse_stored_recipe
from app.actions.challenges.upload_gold import stored_file_kind
from app.actions.scoring_tasks.scoring_request import GoldReference, gold_reference, send_scoring_request
from app.actions.submissions.read_submissions import read_submission
from app.actions.submissions.score_visibility import resolve_split, score_view_for
from app.errors import BadRequest, Conflict, Forbidden, NoOpenPhase, SubmissionNotFinished
from app.files import FileStore
from app.scoring import SCORER_VERSION
from app.scoring.reports.detailed_report import REPORT_PARTS
from app.scoring_processes import MemoryLimitExceeded, ScoringProcesses, ScoringTimeout
from app.store import clock
from app.store.queries import challenges, gold
from app.store.session import Database, ReadSession
from app.store.tables import Phase, Recipe, Submission


class ReportTooLarge(Conflict):
    """This report is too large to be made."""

    code = "report_too_large"
    remedy = "Ask for one part alone, such as ?part=per_class; offline, 'assay score' gives one metric by itself."


@dataclass(frozen=True, slots=True)
class ReportRequest:
    """A report that may be made: of what, which parts of it, and with how many digits."""

    submission: Submission
    gold: GoldReference
    recipe: Recipe
    split: str
    parts: tuple[str, ...]
    digits: int | None
    organizer: bool
    """Whether it says what only organizers may read: why a score is missing, what to note of it, how large the split is."""
    head: Mapping[str, Any]

    @property
    def name(self) -> str:
        """What the report hangs on, as the beginning of a file's name."""
        allowed = "".join("y" if part in self.parts else "n" for part in REPORT_PARTS)
        version = f"{self.gold.id}-{self.recipe.id}-{self.head['scorer_version']}-{SCORER_VERSION}"
        shown = "whole" if self.organizer else "scored" if "scores" in self.head else "unscored"
        return f"report-{self.submission.id}-{version}-{self.split}-{allowed}-{shown}-{self.digits or 'full'}"


def authorize_report(
    session: ReadSession, caller: Caller, submission_id: str, *, split: str | None, part: str | None
) -> ReportRequest:
    """The report that this reader may have, or one `part` of it.

    Raises NotFound, NoOpenPhase before the opening, NotFinished without scores in force, SplitHidden, and Forbidden for
    what the phase does not allow, and for a file that an organizer sent for the team: its report would tell of the file.
    """
    seen = read_submission(session, caller, submission_id)
    if not seen.is_file_visible:
        raise Forbidden(
            "An organizer sent this file on behalf of the team; its report is for organizers alone.",
            remedy="Read its scores with the submission itself, or ask the organizers for the report.",
        )
    phase = session.get_one(Phase, seen.submission.phase_id)
    version = gold.active(session, phase.id)
    if seen.submission.status != "finished" or version is None or not seen.scored:
        raise SubmissionNotFinished(
            "There is a report once the submission has scores.", remedy="Wait until it is finished."
        )
    if not seen.organizer and clock.now(session) < phase.opens_at:  # it was moved; classes are not public now
        raise NoOpenPhase(f"The phase '{phase.slug}' has not opened; until then reports are for the organizers alone.")
    recipe = challenges.active_recipe(session, phase.challenge_id)
    shown = resolve_split(phase, version, split, organizer=seen.organizer)
    parts = tuple(name for name, allows in REPORT_PARTS.items() if seen.organizer or allows in phase.reports)
    if part is not None and part not in parts:
        raise Forbidden(
            f"This phase does not show its participants the part '{part}'.",
            remedy=f"Reports of this phase: {', '.join(phase.reports) or 'none'}.",
        )
    scores = (seen.splits or {}).get(shown, {}) if seen.organizer else seen.scores
    return ReportRequest(
        submission=seen.submission,
        gold=gold_reference(version, phase.challenge),
        recipe=recipe,
        split=shown,
        parts=parts if part is None else (part,),
        digits=score_view_for(parse_stored_recipe(phase.challenge, recipe), organizer=seen.organizer).digits,
        organizer=seen.organizer,
        head={
            "submission": seen.submission.id,
            "challenge": phase.challenge.slug,
            "phase": phase.slug,
            "split": shown,
            "gold_version": version.version,
            "recipe_version": recipe.version,
            "scorer_version": phase.scorer_version,
            **({"scores": scores} if scores else {}),
        },
    )


def make_report(
    db: Database, files: FileStore, children: ScoringProcesses, wanted: ReportRequest, *, as_csv: bool, target: Path
) -> None:
    """Have a child write the report to `target`; raises ReportTooLarge."""
    row = wanted.submission
    with files.local_path(row.file_key) as path:
        send_report_request(
            lambda request: send_scoring_request(db, files, children, wanted.gold, request),
            {
                "kind": "report",
                "predictions": {"path": str(path), **stored_file_kind(row).to_dict()},
                "recipe": wanted.recipe.body,
                "split": wanted.split,
                "parts": list(wanted.parts),
                "digits": wanted.digits,
                "size": wanted.organizer,
                "head": dict(wanted.head),
                "csv": as_csv,
                "target": str(target),
            },
        )


def send_report_request(ask: Callable[[dict[str, Any]], dict[str, Any]], request: dict[str, Any]) -> None:
    """Have a child answer this; raises ReportTooLarge where it refuses, or takes too long or too much memory.

    Raises BadRequest where the submission has not the scores that a table needs.
    """
    try:
        answer = ask(request)
    except (ScoringTimeout, MemoryLimitExceeded) as beyond:
        what = "time" if isinstance(beyond, ScoringTimeout) else "memory"
        raise ReportTooLarge(f"Making this report takes more {what} than one may take.") from beyond
    if answer.get("other_scores"):
        raise BadRequest(answer["detail"], remedy="Ask for another part, such as ?part=per_class.")
    if not answer["valid"]:
        raise ReportTooLarge(answer["detail"])
