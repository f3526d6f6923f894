"""The declaration of a metric, a call of one with concrete parameters, and the catalogue of all metrics."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from app.scoring.declaration.distinct_value_bounds import Granularity
from app.scoring.declaration.interval_method import BOOTSTRAP, IntervalMethod
from app.scoring.declaration.task import TaskKind
from app.scoring.draw_context import DrawContext, Floats
from app.scoring.numeric.correct_rounding import Real
from app.scoring.tally import EvaluationContext

Direction = Literal["higher", "lower", "none"]

LABELS = "labels"
SCORES = "scores"
PROBABILITIES = "probabilities"
TRAIN_FREQUENCIES = "train_frequencies"
RANKING = "ranking"
"""Scores, or else the order of the labels in a predicted list."""
HIERARCHY = "hierarchy"
COST_MATRIX = "cost_matrix"
ACCEPTABLE_SETS = "acceptable"
"""Not a need: marks gold with sets of acceptable answers, for which few metrics are defined."""
UNKNOWN_CELLS = "unknown_cells"
"""Not a need: marks gold with unknown cells, which the metrics with the option of this name leave out."""
FOLDS = "folds"
GROUPS = "groups"


@dataclass(frozen=True, slots=True)
class Result:
    """The value of a metric, or None with the reason; notes name the conventions that affected it.

    `data` is the JSON value of a metric that is not a single number, such as a curve or a table. `exact` is the value
    before rounding, so that a metric built on this one rounds only once; `evaluate` drops it.
    """

    value: float | None
    reason: str | None = None
    notes: tuple[str, ...] = ()
    data: Any = None
    exact: Real | None = None


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter of a metric: a decimal `number` or a `whole` number within bounds, a `choice`, or a `label`.

    `values` are the choices, or words allowed in place of a number. A parameter with a default is a setting: it may
    also be set once for all metrics, and metrics that do not have it ignore it.
    """

    name: str
    kind: Literal["number", "whole", "choice", "label"]
    meaning: str
    default: str | None = None
    bounds: tuple[float, float] | None = None
    values: tuple[str, ...] = ()
    value_meanings: tuple[str, ...] = ()
    required_for: tuple[TaskKind, ...] = ()


@dataclass(frozen=True, slots=True)
class Example:
    """A worked example: few enough labels to count by hand, and the exact value as a fraction or decimal."""

    task: TaskKind
    classes: tuple[str, ...]
    gold: tuple[Any, ...]
    predicted: tuple[Any, ...]
    value: str
    params: Mapping[str, str] = field(default_factory=dict)
    positive_label: str | None = None
    train_frequencies: Mapping[str, int] | None = None
    scores: tuple[tuple[float, ...], ...] | None = None
    """Scores in the order of the classes, for metrics that need them."""
    hierarchy: Mapping[str, tuple[str, ...]] | None = None
    folds: tuple[str, ...] | None = None
    groups: tuple[str, ...] | None = None
    cost_matrix: Mapping[str, Mapping[str, float]] | None = None
    class_weights: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class Properties:
    """Properties of a metric that hold for every data set; tests check each of them for each metric.

    `symmetric`: swapping gold and predictions keeps the value. `prevalence_sensitive`: replicating the instances of one
    class can change the value. `count_based`: a function of integer counts. `ordinal`: the order in which the classes
    are declared can change the value. `significant_digits`: the digits to which a value is rounded that involves
    logarithms, exponentials or powers; None means that the exact value is rounded once, to binary64.
    """

    symmetric: bool
    prevalence_sensitive: bool
    count_based: bool = True
    ordinal: bool = False
    significant_digits: int | None = None


@dataclass(frozen=True, slots=True)
class MetricCall:
    """A metric with concrete parameters and conventions: the meaning of a metric string.

    `params` are canonical texts by name, settings included. `options` has every convention option. `text` is the
    canonical string, which omits values that equal those of the recipe or the declaration. `requested` is the string as
    requested, `title` a display name from the recipe.
    """

    metric: "Metric"
    params: Mapping[str, str]
    options: Mapping[str, str]
    text: str
    requested: str
    title: str | None = None

    @property
    def cache_key(self) -> tuple[Hashable, ...]:
        """Equal for calls that compute the same."""
        return self.metric.key, self.text, tuple(self.params.items()), tuple(sorted(self.options.items()))


ClassWeighting = Literal["", "equal", "present", "support", "predicted", "training", "given"]


@dataclass(frozen=True, slots=True)
class ReportedCounts:
    """Where a detailed report counts what a metric of hard labels is computed from, so that readers can follow a score.

    - `measures`: the measures of single classes that it is built from, by their keys in `per_class`.
    - `weights`: how a mean over classes weighs them: equally; equally those that occur in gold (`present`); by how often
      they occur in gold (`support`), in the predictions or in the training data; or by the class weights of the gold.
      Empty for a metric that is no such mean.
    - `sums`: the counts in `per_class` that its numerator adds up over all classes.
    - `path`: the place of its numerator in the report, for a count of instances.
    - `divisor`: what the numerator is divided by: instances, or decisions (one per instance and class).
    - `complement`: whether the score is 1 minus that share.
    """

    measures: tuple[str, ...] = ()
    weights: ClassWeighting = ""
    sums: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    divisor: Literal["", "instances", "decisions"] = ""
    complement: bool = False


Compute = Callable[[EvaluationContext, MetricCall], Result]
ComputeDraws = Callable[[DrawContext, MetricCall], Floats]


@dataclass(frozen=True, slots=True)
class Metric:
    r"""The declaration of a metric, which the catalogue, the parser, the help and the tests read.

    - `equation`: LaTeX, in which `\param{k}` stands for a parameter. `equation_of_call` writes it for a call whose
      settings change its form. `states_zero_division`: the equation says what 0/0 counts as; else the help adds it.
    - `symbols`: explanations of letters that only this metric uses. `names`: other names in the literature.
    - `options`: the conventions that affect it. `hints`: the keys to use instead, by task that it is not defined for.
    - `source`: paper and section or equation. `peers`: tools that compute the same, with the differences.
    - `granularity`: how many values it can take. `floor`: if all instances weigh the same, a value other than 0 is at
      least 1 / (n·m + 1)^floor in size; 0 means as small as binary64 allows.
    - `instance_mean`: the mean over instances of a number from 0 to 1 each, unless an option leaves instances out.
    - `scalar`: it is a single number. `acceptable`: it is defined for gold with sets of acceptable answers.
      `supports_weights`: a weight of w counts like w equal instances.
    - `counted`: where a detailed report counts what it is computed from.
    - `compute_draws`: its value in each draw of a resampling, NaN where it is null; raises NoDrawForm under options
      that it has no form for. Without it every draw is evaluated by itself, which is slow.
    - `interval`: how its confidence interval is computed. `merges_cells`: with one label per instance it is a function
      of the counts of each class against the rest (TP, FP, FN, TN), so it does not matter for which gold class a wrong
      label was predicted.
    - `check`: returns what is wrong with a combination of parameters that are each allowed.
    """

    key: str
    name: str
    names: tuple[str, ...]
    equation: str
    tasks: tuple[TaskKind, ...]
    needs: tuple[str, ...]
    direction: Direction
    granularity: Granularity
    range: tuple[float, float]
    params: tuple[Param, ...]
    options: tuple[str, ...]
    properties: Properties
    source: str
    example: Example
    compute: Compute
    hints: Mapping[str, str] = field(default_factory=dict)
    scalar: bool = True
    acceptable: bool = False
    supports_weights: bool = True
    floor: int = 0
    instance_mean: bool = False
    counted: ReportedCounts = ReportedCounts()
    compute_draws: "ComputeDraws | None" = None
    interval: IntervalMethod = BOOTSTRAP
    merges_cells: bool = False
    symbols: Mapping[str, str] = field(default_factory=dict)
    peers: Mapping[str, str] = field(default_factory=dict)
    equation_of_call: "Callable[[MetricCall], str] | None" = None
    states_zero_division: bool = False
    check: "Callable[[Mapping[str, str]], str | None] | None" = None

    def __post_init__(self) -> None:
        for param in self.params:
            if param.default is None and set(param.required_for) < set(self.tasks) and param.kind != "label":
                raise ValueError(f"'{param.name}' of '{self.key}' is not required and has no default")


CATALOGUE: dict[str, Metric] = {}


def register(metric: Metric) -> Metric:
    """Add a metric to the catalogue; raises ValueError if its key is taken."""
    if metric.key in CATALOGUE:
        raise ValueError(f"metric '{metric.key}' is declared twice")
    CATALOGUE[metric.key] = metric
    return metric


def undefined_result(reason: str, *notes: str) -> Result:
    """A result without a value, with the reason."""
    return Result(None, reason, tuple(notes))


def rounded_result(number: Real, notes: Iterable[str] = ()) -> Result:
    """A result with the nearest binary64 number as its value: the only rounding of the metric."""
    return Result(number.nearest(), None, tuple(notes), exact=number)
