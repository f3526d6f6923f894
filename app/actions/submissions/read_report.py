"""The detailed report of one submission: the parts that the phase allows its reader."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from app.actions.access import Caller
from app.actions.challenges.change_recipe import parse_stored_recipe
from app.actions.challenges.resolve_times import before_opening
from app.actions.challenges.upload_gold import stored_file_kind
from app.actions.scoring_tasks.scoring_request import GoldReference, gold_reference, send_scoring_request
from app.actions.submissions.read_submissions import SubmissionView, read_submission
from app.actions.submissions.score_visibility import resolve_split, score_view_for
from app.actions.uncertainty.show_intervals import without_intervals
from app.errors import BadRequest, Conflict, Forbidden, SubmissionNotFinished
from app.files import FileStore
from app.pipeline import SourceFile
from app.scoring import SCORER_VERSION
from app.scoring.reports.detailed_report import REPORT_PARTS
from app.scoring_processes import MemoryLimitExceeded, ScoringProcesses, ScoringTimeout
from app.scoring_processes.messages import FileResult, Refusal, Reply, WriteReport
from app.store import clock
from app.store.queries import challenges, gold
from app.store.session import Database, ReadSession
from app.store.tables import Phase, Recipe, Submission

RANKS = ("rank", "public_rank")  # which a report names after the final release


class ReportTooLarge(Conflict):
    """This report exceeds the limits on its size, time or memory."""

    code = "report_too_large"
    remedy = "Request one part alone, such as ?part=per_class; offline, 'assay score' computes a single metric."


@dataclass(frozen=True, slots=True)
class ReportRequest:
    """An authorized report: of which scores, with which parts, and with how many digits."""

    submission: Submission
    gold: GoldReference
    recipe: Recipe
    split: str
    parts: tuple[str, ...]
    digits: int | None
    organizer: bool
    """Whether it includes what only organizers may read: reasons of missing scores, notes, the size of the split."""
    head: Mapping[str, Any]
    points: int | None = None
    """The maximum number of points of each curve; None for all."""

    @property
    def name(self) -> str:
        """Everything that the report depends on, as the beginning of the name of a cached file."""
        allowed = "".join("y" if part in self.parts else "n" for part in REPORT_PARTS)
        version = f"{self.gold.id}-{self.recipe.id}-{self.head['scorer_version']}-{SCORER_VERSION}"
        shown = "whole" if self.organizer else "scored" if "scores" in self.head else "unscored"
        ranks = "-".join(f"{self.head.get(name)}" for name in RANKS)
        numbers = f"{self.digits or 'full'}-{self.points or 'all'}"
        return f"report-{self.submission.id}-{version}-{self.split}-{allowed}-{shown}-{numbers}-{ranks}"


def authorize_report(
    session: ReadSession, caller: Caller, submission_id: str, *, split: str | None, part: str | None
) -> ReportRequest:
    """The report that this reader may have, or one `part` of it.

    Raises NotFound, NoOpenPhase before the phase opens, SubmissionNotFinished without current scores, SplitHidden, and
    Forbidden for parts that the phase does not allow. Also Forbidden for a file that an organizer sent for the team,
    because the report would reveal its predictions, and while a Ladder limits feedback.
    """
    view = read_submission(session, caller, submission_id)
    _require_reader(view)
    phase = session.get_one(Phase, view.submission.phase_id)
    version = gold.active(session, phase.id)
    if view.submission.status != "finished" or version is None or not view.scored:
        detail = "The report is available once the submission has scores."
        raise SubmissionNotFinished(detail, remedy="Wait until it is finished.")
    # The opening may have been postponed after the submission; until then the classes are not public.
    if not view.organizer and clock.now(session) < phase.opens_at:
        raise before_opening(phase, "read reports")
    recipe = challenges.active_recipe(session, phase)
    shown = resolve_split(phase, version, split, organizer=view.organizer)
    parts = tuple(name for name, allows in REPORT_PARTS.items() if view.organizer or allows in phase.reports)
    if part is not None and part not in parts:
        remedy = f"Reports of this phase: {', '.join(phase.reports) or 'none'}."
        raise Forbidden(f"This phase does not show its participants the part '{part}'.", remedy=remedy)
    scores = (view.splits or {}).get(shown, {}) if view.organizer else view.scores
    if not view.organizer and shown != view.split:  # the public split beside the private one, after the release
        scores = view.public_scores or {}
    return ReportRequest(
        submission=view.submission,
        gold=gold_reference(version),
        recipe=recipe,
        split=shown,
        parts=parts if part is None else (part,),
        digits=score_view_for(parse_stored_recipe(phase, recipe), organizer=view.organizer).digits,
        organizer=view.organizer,
        head={
            "submission": view.submission.id,
            "challenge": phase.challenge.slug,
            "phase": phase.slug,
            "split": shown,
            "gold_version": version.version,
            "recipe_version": recipe.version,
            "scorer_version": phase.scorer_version,
            **(dict(zip(RANKS, view.ranks, strict=True)) if view.split == "private" else {}),
            **({"scores": without_intervals(scores)} if scores else {}),
        },
    )


def _require_reader(view: SubmissionView) -> None:
    if not view.is_file_visible:
        detail = "An organizer sent this file on behalf of the team; only organizers may read its report."
        raise Forbidden(detail, remedy="Read its scores in the submission, or ask the organizers for the report.")
    if view.ladder is not None:
        detail = "While the Ladder limits the feedback of this phase, only organizers may read reports."
        raise Forbidden(detail, remedy="Read the report after the final release.")


def make_report(
    db: Database, files: FileStore, processes: ScoringProcesses, report: ReportRequest, *, as_csv: bool, target: Path
) -> None:
    """Have a scoring process write the report to `target`; raises what send_report_request raises."""
    row = report.submission
    with files.local_path(row.file_key) as path:
        request = WriteReport(
            gold=report.gold.source,
            predictions=SourceFile(path, stored_file_kind(row)),
            recipe=report.recipe.body,
            split=report.split,
            parts=report.parts,
            digits=report.digits,
            include_size=report.organizer,
            head=report.head,
            as_csv=as_csv,
            target=target,
            points=report.points,
        )
        send_report_request(partial(send_scoring_request, db, files, processes, report.gold), request)


def send_report_request(ask: Callable[[WriteReport], Reply], request: WriteReport) -> None:
    """Send the request; raises ReportTooLarge if it is refused, or takes too much time or memory.

    Raises BadRequest if a table needs probabilities and the submission has other scores.
    """
    try:
        reply = ask(request)
    except (ScoringTimeout, MemoryLimitExceeded) as fault:
        resource = "time" if isinstance(fault, ScoringTimeout) else "memory"
        raise ReportTooLarge(f"This report takes more {resource} than the limit allows.") from fault
    if isinstance(reply, Refusal):
        if reply.needs_probabilities:
            raise BadRequest(reply.detail, remedy="Request another part, such as ?part=per_class.")
        raise ReportTooLarge(reply.detail)
    if isinstance(reply, FileResult):  # the file could not be read again: its scores need more memory than labels alone
        raise ReportTooLarge("This report takes more memory than the limit allows.")
