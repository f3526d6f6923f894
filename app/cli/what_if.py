"""The command that says what scores would be if predictions, or the share of the positive class, were others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from app.cli.input import value_parsing
from app.cli.input.gold_and_predictions import (
    GoldAndPredictions,
    metric_chooser,
    read_gold_and_predictions,
    report_problems_and_exit,
    wants_scores,
)
from app.cli.options import (
    AsJson,
    Classes,
    Gold,
    GoldLayout,
    Layout,
    Options,
    PositiveLabel,
    Predictions,
    TaskType,
    VoidIds,
    gold_metadata_options,
)
from app.cli.terminal.notes import ScoreNotes
from app.cli.terminal.output import CommandOutput, command_output
from app.cli.terminal.what_if_tables import show_what_if

if TYPE_CHECKING:
    from app.analysis.prediction_changes import Amount, ChangeKind, PredictionChange
    from app.offline import OfflineOutcome

_DEFAULT_METRICS = {
    "binary": ("precision", "recall", "f1", "precision_macro", "recall_macro", "f1_macro", "accuracy"),
    "multiclass": ("precision_macro", "recall_macro", "f1_macro", "accuracy"),
    "multilabel": ("precision_macro", "recall_macro"),
}
"""What is computed where no metric is named: the measures of Van Asch's Table 8, and those of the positive class.

Also where nothing is tried on instances: what is read and what is refused follows from the options of the metrics.
"""


@dataclass(frozen=True, slots=True)
class _WhatIfRequest:
    """What is to be tried."""

    steps: Sequence[tuple[str, str]]
    count: str
    target: str | None
    threshold: float | None
    share: Fraction | None
    prevalence: Fraction | None

    @property
    def selects_doubtful(self) -> bool:
        """Whether doubtful predictions are looked for, so that scores are needed."""
        return self.threshold is not None or self.share is not None

    def check(self) -> None:
        """Raise BadParameter where options do not go together."""
        if self.threshold is not None and self.share is not None:
            raise typer.BadParameter("goes without --threshold", param_hint="--share")
        if self.target is None and self.selects_doubtful:
            raise typer.BadParameter("is needed: the label that doubtful predictions get", param_hint="--target-label")


_Metrics = Annotated[
    list[str] | None,
    typer.Option("--metric", "-m", metavar="METRIC", help="Metric to compare; repeat it (default: the usual ones)."),
]
_Moves = Annotated[
    list[str] | None,
    typer.Option("--move", metavar="FROM,TO,COUNT", help="False positives that go to another label; repeat it."),
]
_Corrections = Annotated[
    list[str] | None,
    typer.Option("--correct", metavar="FROM,TO,COUNT", help="False positives that become right as TO; repeat it."),
]
_Gains = Annotated[
    list[str] | None,
    typer.Option("--gain", metavar="LABEL,COUNT", help="Misses that become true positives; repeat it."),
]
_Count = Annotated[
    str,
    typer.Option(
        "--count", metavar="N", help="Predictions that change in the table of costs; of weighted ones, a weight."
    ),
]
_Target = Annotated[
    str | None,
    typer.Option("--target-label", metavar="LABEL", help="Change doubtful, or all wrong, predictions to this one."),
]
_Threshold = Annotated[
    str | None,
    typer.Option("--threshold", metavar="SCORE", help="Doubtful: predictions whose label has a score below it."),
]
_Share = Annotated[
    str | None, typer.Option("--share", metavar="SHARE", help="Doubtful: this share of the least sure, e.g. 0.1.")
]
_Prevalence = Annotated[
    str | None,
    typer.Option("--prevalence", metavar="SHARE", help="Score a binary task at this share of positive instances."),
]


@gold_metadata_options("train-frequencies", "class-weights")
def what_if(
    *,
    gold: Gold,
    predictions: Predictions,
    task: TaskType = None,
    positive_label: PositiveLabel = None,
    classes: Classes = None,
    gold_metadata: Mapping[str, Path | None],
    void: VoidIds = None,
    move: _Moves = None,
    correct: _Corrections = None,
    gain: _Gains = None,
    count: _Count = "1",
    target_label: _Target = None,
    threshold: _Threshold = None,
    share: _Share = None,
    prevalence: _Prevalence = None,
    metric: _Metrics = None,
    option: Options = None,
    layout: Layout = None,
    gold_layout: GoldLayout = None,
    as_json: AsJson = False,
) -> None:
    """Show what changed predictions would cost or gain, and scores at another share of the positive class."""
    options = value_parsing.parse_option_pairs(option or ())
    shares = value_parsing.parse_share(share, "--share"), value_parsing.parse_share(prevalence, "--prevalence")
    cut = None if threshold is None else value_parsing.parse_number(threshold, "--threshold")
    asked = _WhatIfRequest(_collect_steps(move, correct, gain), count, target_label, cut, *shares)
    asked.check()
    with command_output(as_json=as_json) as out:
        files = read_gold_and_predictions(
            gold,
            predictions,
            gold_layout=gold_layout,
            layout=layout,
            task=task,
            positive_label=positive_label,
            classes=classes,
            void=void,
            beside=gold_metadata,
        )
        _score_and_report(out, files, asked, metric or _DEFAULT_METRICS[files.task], options)


def _score_and_report(
    out: CommandOutput,
    files: GoldAndPredictions,
    asked: _WhatIfRequest,
    wanted: Sequence[str],
    options: Mapping[str, str],
) -> None:
    """Score what is there, and tell what else might be."""
    outcome = files.score(
        metric_chooser(wanted, options), options, wants_scores=asked.selects_doubtful or wants_scores(wanted)
    )
    if outcome.case is None:
        files.check_positive_label(outcome)
        report_problems_and_exit(out, outcome)
    _report_what_if(out, outcome, asked, options, ScoreNotes([*files.notes, *outcome.notes]))


def _collect_steps(
    move: list[str] | None, correct: list[str] | None, gain: list[str] | None
) -> tuple[tuple[str, str], ...]:
    """The steps that were asked for, by kind."""
    kinds = (("move", move), ("correct", correct), ("gain", gain))
    return tuple((kind, text) for kind, given in kinds for text in given or ())


def _report_what_if(
    out: CommandOutput, outcome: "OfflineOutcome", asked: _WhatIfRequest, options: Mapping[str, str], notes: ScoreNotes
) -> None:
    """Report all that was asked for."""
    from app.analysis import what_if_report
    from app.analysis.prediction_changes import WhatIfCounts, require_enough_instances
    from app.scoring.declaration.metric_parser import parse_metric

    case = outcome.case
    assert case is not None
    classes = case.spec.classes
    counts = WhatIfCounts.of(case, parse_metric("precision_macro", options=options).options)
    weighted = case.weights is not None
    steps = [_parse_step(kind, text, classes, weighted=weighted) for kind, text in asked.steps]
    count = _parse_amount(asked.count, weighted=weighted)
    if count <= 0:
        raise typer.BadParameter(f"'{asked.count}' is no number of predictions", param_hint="--count")
    require_enough_instances(case, steps)
    before = outcome.scores["all"]
    report: dict[str, Any] = {
        "task": case.spec.task,
        "n": case.gold.n,
        "weighted": weighted,
        "classes": list(classes),
        "averages": what_if_report.change_report(counts.averages()),
        "costs": what_if_report.costs_report(counts, classes, count),
        "change": what_if_report.change_report(counts.combined_change(steps)) if steps else None,
        "changed": None,
        "prevalence": None,
    }
    if asked.target is not None:
        lower = options.get("score_direction") == "lower"
        doubt = what_if_report.RelabelRule(_target_position(asked.target, classes), asked.threshold, asked.share, lower)
        report["changed"] = what_if_report.relabel_report(case, outcome.calls, before, doubt)
    if asked.prevalence is not None:
        report["prevalence"] = what_if_report.prevalence_report(case, outcome.calls, before, asked.prevalence)
    _note_undefined(notes, report)
    report["notes"] = notes.all()
    out.result(report, lambda console: show_what_if(console, report))
    if not out.as_json:
        for note in notes.condensed():
            out.note(f"Note: {note}")


def _target_position(text: str, classes: Sequence[str]) -> int:
    """The position of the label that predictions are changed to."""
    found = _label_positions(text, classes, pair=False)
    if found is None:
        value_parsing.refuse_unknown_label(text, classes, "--target-label")
    return found[1]


def _note_undefined(notes: ScoreNotes, report: Mapping[str, Any]) -> None:
    """Why values are null."""
    for part in ("changed", "prevalence"):
        for metric, row in (report[part] or {}).get("metrics", {}).items():
            for reason in dict.fromkeys(row.get("undefined", {}).values()):
                notes.undefined(metric, reason)


def _parse_amount(text: str, *, weighted: bool) -> "Amount":
    """A number of predictions, or of weighted ones their weight, below 0 with a sign; 0 for a text that is neither."""
    from app.formats.weights import parse_exact_weight

    text = text.strip()
    size = parse_exact_weight(text.removeprefix("-")) or Fraction(0)
    if size.denominator > 1 and not weighted:
        return 0
    return -size if text.startswith("-") else size


def _parse_step(kind: str, text: str, classes: Sequence[str], *, weighted: bool) -> "PredictionChange":
    """A step from its text: labels as they are, then the count, joined by commas."""
    from app.analysis.prediction_changes import PredictionChange

    labels, _, number = text.rpartition(",")
    shape = "LABEL,COUNT" if kind == "gain" else "FROM,TO,COUNT"
    count = _parse_amount(number, weighted=weighted)
    if not labels or not count or (kind == "move" and count < 0):
        raise typer.BadParameter(f"'{text}' is not {shape} with a count", param_hint=f"--{kind}")
    found = _label_positions(labels, classes, pair=kind != "gain")
    if found is None:
        some = ", ".join(classes[:10]) + (", …" if len(classes) > 10 else "")
        detail = f"'{labels}' does not name the labels of {shape}; there are: {some}"
        raise typer.BadParameter(detail, param_hint=f"--{kind}")
    return PredictionChange(cast("ChangeKind", kind), *found, count)


def _label_positions(text: str, classes: Sequence[str], *, pair: bool) -> tuple[int | None, int] | None:
    """The positions of two different labels that a comma joins, or of one; labels may hold commas themselves."""
    from app.pipeline import normalize_distinct

    (text,) = normalize_distinct([text])
    if not pair:
        return (None, classes.index(text)) if text in classes else None
    parts = text.split(",")
    cuts = ((",".join(parts[:k]), ",".join(parts[k:])) for k in range(1, len(parts)))
    found = [(one, other) for one, other in cuts if one in classes and other in classes and one != other]
    return (classes.index(found[0][0]), classes.index(found[0][1])) if len(found) == 1 else None
