"""The command that computes what scores would be with other predictions, or with another share of positive instances."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from app.cli.input import value_parsing
from app.cli.input.gold_and_predictions import (
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
"""The metrics if none is named: the measures of Van Asch's Table 8, and those of the positive class.

They are computed even if no instance changes: which input is read and refused follows from the options of the metrics.
"""


@dataclass(frozen=True, slots=True)
class _WhatIfRequest:
    """The changes to try."""

    steps: Sequence[tuple[str, str]]
    count: str
    target: str | None
    threshold: float | None
    share: Fraction | None
    expected_accuracy: Fraction | None
    prevalence: Fraction | None

    @property
    def selections(self) -> dict[str, float | Fraction]:
        """The options given that select doubtful predictions, which needs scores."""
        every = {
            "--threshold": self.threshold,
            "--share": self.share,
            "--expected-accuracy": self.expected_accuracy,
        }
        return {name: value for name, value in every.items() if value is not None}

    @property
    def selects_doubtful(self) -> bool:
        """Whether doubtful predictions are selected."""
        return bool(self.selections)

    def __post_init__(self) -> None:
        """Raise BadParameter if options conflict."""
        names = list(self.selections)
        if len(names) > 1:
            raise typer.BadParameter(f"not allowed with {names[0]}", param_hint=names[1])
        if self.target is None and self.selects_doubtful:
            raise typer.BadParameter("required: the label that doubtful predictions get", param_hint="--target-label")


_Metrics = Annotated[
    list[str] | None,
    typer.Option("--metric", "-m", metavar="METRIC", help="Metric to compare; repeatable (default: the usual ones)."),
]
_Moves = Annotated[
    list[str] | None,
    typer.Option("--move", metavar="FROM,TO,COUNT", help="False positives that move to another label; repeatable."),
]
_Corrections = Annotated[
    list[str] | None,
    typer.Option("--correct", metavar="FROM,TO,COUNT", help="False positives corrected to TO; repeatable."),
]
_Gains = Annotated[
    list[str] | None,
    typer.Option("--gain", metavar="LABEL,COUNT", help="False negatives that become true positives; repeatable."),
]
_Count = Annotated[
    str,
    typer.Option(
        "--count", metavar="N", help="Number of predictions that change in the cost table; their weight, if weighted."
    ),
]
_Target = Annotated[
    str | None,
    typer.Option("--target-label", metavar="LABEL", help="Label that doubtful, else all wrong, predictions change to."),
]
_Threshold = Annotated[
    str | None,
    typer.Option("--threshold", metavar="SCORE", help="Doubtful: predictions whose label has a lower score."),
]
_Share = Annotated[
    str | None, typer.Option("--share", metavar="SHARE", help="Doubtful: this share of the least certain, e.g. 0.1.")
]
_ExpectedAccuracy = Annotated[
    str | None,
    typer.Option(
        "--expected-accuracy",
        metavar="SHARE",
        help="Doubtful: predictions at whose confidence fewer than this share are right, e.g. 0.35.",
    ),
]
_Prevalence = Annotated[
    str | None,
    typer.Option("--prevalence", metavar="SHARE", help="Rescore a binary task at this share of positive instances."),
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
    expected_accuracy: _ExpectedAccuracy = None,
    prevalence: _Prevalence = None,
    metric: _Metrics = None,
    option: Options = None,
    layout: Layout = None,
    gold_layout: GoldLayout = None,
    as_json: AsJson = False,
) -> None:
    """Show what changed predictions would cost or gain, or the scores at another share of positive instances."""
    options = value_parsing.parse_option_pairs(option or ())
    given = (("--share", share), ("--expected-accuracy", expected_accuracy), ("--prevalence", prevalence))
    shares = [value_parsing.parse_share(text, name) for name, text in given]
    max_score = None if threshold is None else value_parsing.parse_number(threshold, "--threshold")
    kinds = (("move", move), ("correct", correct), ("gain", gain))
    steps = [(kind, text) for kind, texts in kinds for text in texts or ()]
    request = _WhatIfRequest(steps, count, target_label, max_score, *shares)
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
            gold_metadata=gold_metadata,
        )
        metrics = metric or _DEFAULT_METRICS[files.task]
        needs_scores = request.selects_doubtful or wants_scores(metrics)
        outcome = files.score(metric_chooser(metrics, options), options, wants_scores=needs_scores)
        if outcome.case is None:
            report_problems_and_exit(out, files, outcome)
        _report_what_if(out, outcome, request, options, ScoreNotes([*files.notes, *outcome.notes]))


def _report_what_if(
    out: CommandOutput,
    outcome: "OfflineOutcome",
    request: _WhatIfRequest,
    options: Mapping[str, str],
    notes: ScoreNotes,
) -> None:
    from app.analysis import what_if_report
    from app.analysis.prediction_changes import WhatIfCounts, require_enough_instances
    from app.scoring.declaration.metric_parser import parse_metric

    case = outcome.case
    assert case is not None
    classes = case.spec.classes
    counts = WhatIfCounts.of(case, parse_metric("precision_macro", options=options).options)
    weighted = case.weights is not None
    steps = [_parse_step(kind, text, classes, weighted=weighted) for kind, text in request.steps]
    count = _parse_amount(request.count, weighted=weighted)
    if count <= 0:
        raise typer.BadParameter(f"'{request.count}' is not a number of predictions", param_hint="--count")
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
    if request.target is not None:
        target = _label_positions(request.target, classes, pair=False)
        if target is None:
            value_parsing.refuse_unknown_label(request.target, classes, "--target-label")
        lower = options.get("score_direction") == "lower"
        rule = what_if_report.RelabelRule(target[1], request.threshold, request.share, lower, request.expected_accuracy)
        report["changed"] = what_if_report.relabel_report(case, outcome.calls, before, rule)
    if request.prevalence is not None:
        report["prevalence"] = what_if_report.prevalence_report(case, outcome.calls, before, request.prevalence)
    _note_undefined(notes, report)
    report["notes"] = notes.all()
    out.result(report, lambda console: show_what_if(console, report))
    if not out.as_json:
        out.notes(notes.condensed())


def _note_undefined(notes: ScoreNotes, report: Mapping[str, Any]) -> None:
    """Add the reasons of undefined values."""
    for part in ("changed", "prevalence"):
        for metric, row in (report[part] or {}).get("metrics", {}).items():
            for reason in dict.fromkeys(row.get("undefined", {}).values()):
                notes.add_undefined(metric, reason)


def _parse_amount(text: str, *, weighted: bool) -> "Amount":
    """A signed number of predictions, or their weight if `weighted`; 0 for a text that is not such a number."""
    from app.formats.weights import parse_exact_weight

    text = text.strip()
    size = parse_exact_weight(text.removeprefix("-")) or Fraction(0)
    if size.denominator > 1 and not weighted:
        return 0
    return -size if text.startswith("-") else size


def _parse_step(kind: str, text: str, classes: Sequence[str], *, weighted: bool) -> "PredictionChange":
    """A change from its text: one or two labels and a count, separated by commas."""
    from app.analysis.prediction_changes import PredictionChange

    labels, _, number = text.rpartition(",")
    shape = "LABEL,COUNT" if kind == "gain" else "FROM,TO,COUNT"
    count = _parse_amount(number, weighted=weighted)
    if not labels or not count or (kind == "move" and count < 0):
        raise typer.BadParameter(f"'{text}' is not {shape} with a valid count", param_hint=f"--{kind}")
    positions = _label_positions(labels, classes, pair=kind != "gain")
    if positions is None:
        detail = f"'{labels}' does not name the labels of {shape}; labels: {value_parsing.list_labels(classes)}"
        raise typer.BadParameter(detail, param_hint=f"--{kind}")
    return PredictionChange(cast("ChangeKind", kind), *positions, count)


def _label_positions(text: str, classes: Sequence[str], *, pair: bool) -> tuple[int | None, int] | None:
    """The positions of two different labels separated by a comma, or of one; labels may themselves contain commas."""
    from app.pipeline import normalize_distinct

    (text,) = normalize_distinct([text])
    if not pair:
        return (None, classes.index(text)) if text in classes else None
    known, parts = set(classes), text.split(",")
    cuts = ((",".join(parts[:k]), ",".join(parts[k:])) for k in range(1, len(parts)))
    pairs = [(source, target) for source, target in cuts if {source, target} <= known and source != target]
    return (classes.index(pairs[0][0]), classes.index(pairs[0][1])) if len(pairs) == 1 else None
