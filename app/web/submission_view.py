"""What the page of a submission shows: the submission as the API gives it to this reader, its report, and what they may do."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any, NamedTuple

from markupsafe import Markup
from starlette.concurrency import run_in_threadpool

from app import errors
from app.actions.submissions.describe_metrics import describe_metrics, read_agreed_recipe
from app.actions.submissions.read_problems import ProblemList, list_problems
from app.api.live.change_hub import submission_topic
from app.api.phases import PhaseShape
from app.api.problems import read_kept_excerpts
from app.api.reports import ReportQuestion, generate_report
from app.api.submissions import FINAL_STATUSES, SubmissionShape, get_submission
from app.drawing.uncertainty import interval_bar
from app.scoring.declaration.recipe import ScoringRecipe
from app.scoring_processes import ScoringProcessError
from app.web.challenge_frame import ChallengeFrame, read_frame
from app.web.order_words import decimals_for, interval_text
from app.web.page import PageContext

CURVE_POINTS = 400
BAR_WIDTH = 176  # of the interval of a score, as wide as a narrow page has room for
REPORT_WAIT_SECONDS = 4.0
"""How long a page waits for a report that is made now. Then it says that the report is being made."""


class ScoreInterval(NamedTuple):
    """The 95 % interval of a score as text and bar; without one, whether it is pending or why there is none."""

    text: str = ""
    bar: Markup | None = None
    is_pending: bool = False
    reason: str | None = None
    notes: tuple[str, ...] = ()


def score_interval(score: dict[str, Any]) -> ScoreInterval | None:
    """The interval of a score; None where the reader is shown none. The bar is on a scale from 0 to 1 if it fits."""
    if "interval" not in score or score.get("value") is None:
        return None
    found, value, low, high = score["interval"], score["value"], score.get("low"), score.get("high")
    if found is None:
        return ScoreInterval(is_pending=True)
    notes = tuple(found.get("notes") or ())
    if low is None or high is None:
        return ScoreInterval(reason=found.get("reason") or "it cannot be computed", notes=notes)
    is_share = low >= 0 and high <= 1
    bar = interval_bar(value, low, high, least=0, most=1, width=BAR_WIDTH) if is_share else None
    return ScoreInterval(interval_text(low, high, decimals_for([high - low])), bar, notes=notes)


class ScoreColumn(NamedTuple):
    """The scores on one split."""

    title: str
    scores: dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class SubmissionPage:
    """A submission and its challenge, as its reader may see them."""

    submission: SubmissionShape
    frame: ChallengeFrame
    recipe: ScoringRecipe
    metrics: list[dict[str, Any]]
    """The metrics of the recipe that the reader is shown, described."""
    seen: str
    """The id of the last change that this page shows."""

    @property
    def phase(self) -> PhaseShape | None:
        """The phase, if the reader may see it."""
        return next((one for one in self.frame.challenge.phases if one.slug == self.submission.phase), None)

    @property
    def is_final(self) -> bool:
        """Whether the status no longer changes by itself."""
        return self.submission.status in FINAL_STATUSES

    @property
    def is_own(self) -> bool:
        """Whether the reader is a present member of the team."""
        return self.frame.is_member and self.frame.team_id == self.submission.team.id

    def interval(self, score: dict[str, Any]) -> ScoreInterval | None:
        """The interval of a score that the reader sees; none while the Ladder limits what they see."""
        return None if self.submission.ladder is not None else score_interval(score)

    @property
    def score_columns(self) -> list[ScoreColumn]:
        """The scores that the reader sees, by split."""
        shown = self.submission
        if shown.splits is not None:
            return [
                ScoreColumn(_SPLIT_TITLES[name], shown.splits[name]) for name in _SPLIT_TITLES if name in shown.splits
            ]
        columns = [ScoreColumn(_SPLIT_TITLES[shown.split or "all"], shown.scores)] if shown.scores else []
        return columns + ([ScoreColumn(_SPLIT_TITLES["public"], shown.public_scores)] if shown.public_scores else [])

    def scores_on(self, split: str | None) -> dict[str, dict[str, Any]]:
        """The scores that the reader sees on a split; without one, on that which participants see now."""
        shown = self.submission
        if split in {None, shown.split}:
            return shown.scores
        if shown.splits is not None:
            return shown.splits.get(split or "", {})
        return (shown.public_scores or {}) if split == "public" else {}

    @property
    def splits(self) -> list[str]:
        """The splits of which there is a report for this reader."""
        shown = self.submission
        if shown.splits is not None:
            return [name for name in _SPLIT_TITLES if name in shown.splits]
        return ["private", "public"] if shown.public_scores else []

    @property
    def split_choices(self) -> list[tuple[str, str]]:
        """The splits with their titles."""
        return [(name, _SPLIT_TITLES[name]) for name in self.splits]

    @property
    def has_report(self) -> bool:
        """Whether the phase shows the reader more than scores."""
        return bool(self.report_kinds) and self.submission.status == "finished" and not self.is_file_hidden

    @property
    def report_kinds(self) -> set[str]:
        """The kinds of report that the phase shows the reader, whatever this submission has."""
        kinds = {"per_class", "confusion", "curves"}
        if self.submission.ladder is not None:
            return set()
        if self.frame.role is not None:
            return kinds
        return set() if self.phase is None else kinds & set(self.phase.reports)

    @property
    def is_file_hidden(self) -> bool:
        """Whether an organizer sent the file for the team of the reader, who does not see what is in it."""
        return self.submission.sha256 is None

    @property
    def acts(self) -> list[str]:
        """What the reader may try; the rules decide when they do it."""
        if self.frame.challenge.archived_at is not None:
            return []
        shown, organizes = self.submission, self.frame.may_edit
        if not organizes and not self.is_own:
            return []
        is_finished, is_out = shown.status == "finished", bool(shown.withdrawn_at or shown.disqualified_at)
        may_select = shown.selection.rule == "selected" and shown.status in {"queued", "running", "finished"}
        possible = {
            "cancel": shown.status == "queued" or (organizes and shown.status == "running"),
            "unselect": shown.selected,
            "select": may_select and not (shown.selected or is_out or shown.test or shown.baseline or shown.unofficial),
            "withdraw": is_finished and not (is_out or shown.test),
            "rerun": organizes and shown.status in {"finished", "failed"},
            "disqualify": organizes and is_finished and not (shown.disqualified_at or shown.test or shown.baseline),
            "reinstate": organizes and is_out,
            "delete": organizes and shown.test,
        }
        return [name for name, is_possible in possible.items() if is_possible]


_SPLIT_TITLES = {"all": "All instances", "private": "Private split", "public": "Public split"}


def read_page(page: PageContext, submission_id: str) -> SubmissionPage:
    """The submission for this reader; raises what get_submission raises."""
    changes = page.state.changes
    read_since = changes.number
    shape = get_submission(submission_id, page.account, page.state)
    seen = changes.seen_id({submission_topic(submission_id)}, "", read_since=read_since)
    with page.state.db.read() as session:
        frame = read_frame(page, session, shape.challenge)
        recipe = read_agreed_recipe(session, page.caller, submission_id)
    told = [each for each in describe_metrics(recipe) if shape.ladder is None or each["is_primary"]]
    return SubmissionPage(shape, frame, recipe, told, seen)


class ReportState(NamedTuple):
    """The report of a submission, or why there is none now."""

    report: dict[str, Any]
    refusal: errors.AssayError | None = None
    is_waiting: bool = False


async def read_report(page: PageContext, asked: ReportQuestion, *, wait: float | None = None) -> ReportState:
    """The report for the page, with thinned curves, or the refusal."""
    try:
        async with asyncio.timeout(REPORT_WAIT_SECONDS if wait is None else wait):
            name, path = await generate_report(page.request, page.account, page.state, asked)
    except TimeoutError:
        return ReportState({}, is_waiting=True)
    except errors.AssayError as error:
        return ReportState({}, refusal=error)

    def load() -> dict[str, Any]:
        with page.state.generated_files.pin(name):
            loaded: dict[str, Any] = json.loads(path.read_bytes())
            return loaded

    return ReportState(await run_in_threadpool(load))


class ShownProblems(NamedTuple):
    """The problems of a file, and why what stands at their places is missing, if it is for the size of the file."""

    problems: list[dict[str, Any]]
    left_out: str | None = None


async def read_problems(page: PageContext, shown: SubmissionShape) -> ShownProblems:
    """The problems of the file, with what stands at their places.

    An organizer sees them without: reading the lines of a team's file counts as a download, which a page does not do
    by itself.
    """
    if not shown.problems:
        return ShownProblems([])

    def find() -> ProblemList:
        with page.state.db.read() as session:
            return list_problems(session, page.account, shown.id)

    found = await run_in_threadpool(find)
    if not found.has_excerpts or found.is_recorded:
        return ShownProblems(shown.problems)
    try:
        async with asyncio.timeout(REPORT_WAIT_SECONDS):
            excerpts = await read_kept_excerpts(page.request, page.account, page.state, found)
    except (TimeoutError, errors.AssayError, ScoringProcessError):
        return ShownProblems(shown.problems)
    pairs = zip(shown.problems, excerpts.texts, strict=False)
    return ShownProblems([problem | {"excerpt": text} for problem, text in pairs], excerpts.left_out)
