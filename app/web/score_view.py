"""The counts behind the scores of a submission, from its report as the API gives it to the reader."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from app import errors
from app.scoring.declaration.metric import CATALOGUE, MetricCall
from app.scoring.declaration.metric_parser import effective_options, parse_metric
from app.web.class_counts import ClassCounts, classes_of
from app.web.score_address import score_path
from app.web.score_counts import Asked, ScoreCounts, count_score, summary
from app.web.submission_view import ReportState, SubmissionPage

_NO_SCORES = "The submission has no scores."
_HIDDEN_SCORES = "This phase does not show scores to participants."
_NO_SCORE = "The submission has no score of this metric yet."
_LADDER = "While the Ladder limits the feedback of this phase, only organizers see counts."
_NO_REPORT = "This phase shows its participants scores alone, so no counts are shown."


class ScoreLink(NamedTuple):
    """A link to the page of a score: the counts in short, if the report has some, and the address."""

    text: str
    address: str


def score_links(shown: SubmissionPage, split: str | None, state: ReportState) -> dict[str, ScoreLink]:
    """The links from the page of a submission, by metric; none without scores of it."""
    if shown.submission.ladder is not None:
        return {}
    scores, rows = shown.scores_on(split), classes_of(state.report)

    def text(call: MetricCall) -> str:
        asked = replace(_asked(shown, call, split, state, rows), is_brief=True)
        return summary(count_score(asked)) if state.report else ""

    return {
        call.text: ScoreLink(text(call), score_path(shown.submission.id, call.text, split))
        for call in shown.recipe.metrics
        if call.text in scores
    }


def metric_of(shown: SubmissionPage, key: str) -> MetricCall:
    """The metric of the recipe with this string, which need not be the canonical one; raises NotFound."""
    found = shown.recipe.call(key)
    if found is not None:
        return found
    try:
        found = shown.recipe.call(parse_metric(key, options=shown.recipe.options).text)
    except errors.InvalidMetric:
        found = None
    if found is None:
        raise errors.NotFound
    return found


def why_withheld(shown: SubmissionPage, scores: Mapping[str, Any], key: str) -> str | None:
    """Why the reader gets no counts of a score, if that is known before the report is read."""
    if shown.submission.ladder is not None:
        return _LADDER
    if not scores:
        return _HIDDEN_SCORES if shown.submission.status == "finished" else _NO_SCORES
    if key not in scores:
        return _NO_SCORE
    return None if shown.report_kinds else _NO_REPORT


def counts_of(shown: SubmissionPage, call: MetricCall, split: str | None, state: ReportState) -> ScoreCounts:
    """What to show of a score."""
    return count_score(_asked(shown, call, split, state, classes_of(state.report)))


def _asked(
    shown: SubmissionPage,
    call: MetricCall,
    split: str | None,
    state: ReportState,
    rows: tuple[ClassCounts, ...],
) -> Asked:
    scores = shown.scores_on(split)
    withheld = why_withheld(shown, scores, call.text)
    if withheld is None and state.refusal is not None:
        withheld = state.refusal.detail
    phase, options = shown.phase, shown.recipe.options
    return Asked(
        call=call,
        report=state.report,
        rows=rows,
        value=scores.get(call.text, {}).get("value"),
        options=effective_options(CATALOGUE["f1_macro"], options),
        positive_label=shown.frame.challenge.positive_label if phase is None else phase.positive_label,
        digits=None if shown.frame.role is not None else shown.recipe.digits,
        is_counted="per_class" in shown.report_kinds,
        withheld=withheld,
    )
