"""What a metric is, what a call of one is, and the one table of all metrics."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from app.scoring.declaration.granularity import Granularity
from app.scoring.declaration.task import TaskKind
from app.scoring.numeric.correct_rounding import Real
from app.scoring.tally import EvaluationContext

Direction = Literal["higher", "lower", "none"]

LABELS = "labels"
SCORES = "scores"
PROBABILITIES = "probabilities"
TRAIN_FREQUENCIES = "train_frequencies"
RANKING = "ranking"
"""Scores, or else the order in which the labels of a set were sent."""
HIERARCHY = "hierarchy"
COST_MATRIX = "cost_matrix"
ACCEPTABLE_SETS = "acceptable"
"""No need, but a fact of gold that gives sets of acceptable answers: few metrics are defined for it."""
FOLDS = "folds"
GROUPS = "groups"


@dataclass(frozen=True, slots=True)
class Result:
    """The value of a metric, or None with the reason; notes say which conventions came into play.

    `data` is the JSON value of a metric that is no single number: a curve, a table. `exact` is the value before it was
    rounded, for a metric that is made of it; it is dropped when the value is handed on.
    """

    value: float | None
    reason: str | None = None
    notes: tuple[str, ...] = ()
    data: Any = None
    exact: Real | None = None


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter of a metric: a decimal `number` or a `whole` one within bounds, a `choice`, or a `label`.

    `values` are the choices, or words that may stand in place of a number. One with a default is a setting: it may
    also be given once for all metrics, and is ignored by those that it does not concern.
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
    """A worked example: labels small enough to count by hand, and the exact value as a fraction or decimal."""

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
    """What holds for every data set: tests check each of these for each metric.

    `symmetric`: swapping gold and predictions keeps the value. `prevalence_sensitive`: replicating the instances
    of one class can move the value. `count_based`: a function of integer counts. `ordinal`: the order in which the
    classes are declared can move the value. `significant_digits`: to so many a value is rounded that takes logarithms,
    exponentials or powers; None says that the exact value is rounded once, to binary64.
    """

    symmetric: bool
    prevalence_sensitive: bool
    count_based: bool = True
    ordinal: bool = False
    significant_digits: int | None = None


@dataclass(frozen=True, slots=True)
class MetricCall:
    """A metric with its parameters and conventions: what a metric string means.

    `params` are canonical texts by name, settings included; `options` holds every convention option; `text` is the
    canonical string, without what is as the recipe or the declaration has it;
    `requested` is the string as asked; `title` a display name given by the recipe.
    """

    metric: "Metric"
    params: Mapping[str, str]
    options: Mapping[str, str]
    text: str
    requested: str
    title: str | None = None


Compute = Callable[[EvaluationContext, MetricCall], Result]


@dataclass(frozen=True, slots=True)
class Metric:
    r"""One declaration of a metric; the catalogue, the parser, the help and the tests read it.

    `equation` is LaTeX, in which `\param{k}` stands for a parameter; `shown` writes it for a call whose settings change
    its form; with `says_zero` it also says what 0/0 counts as, which is else added. `symbols` explains the letters that are its own. `names` are other names in the field; `options` those
    conventions that concern it; `hints` says for a task that it is not defined for which keys are meant; `source` names
    paper and section or equation; `granularity` says how finely values answer to single labels, and `floor` how small they get: where no instance
    weighs more than another, a value that is not 0 is at least 1 / (n·m + 1)^floor (0: as small as binary64 goes); `peers` says of tools that compute the same where they differ. `acceptable`: defined
    for gold that gives sets of acceptable answers; `weighable`: a weight counts like as many equal instances. `check`
    says of parameters that are each allowed what is wrong with them together.
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
    symbols: Mapping[str, str] = field(default_factory=dict)
    peers: Mapping[str, str] = field(default_factory=dict)
    equation_of_call: "Callable[[MetricCall], str] | None" = None
    states_zero_division: bool = False
    check: "Callable[[Mapping[str, str]], str | None] | None" = None

    def __post_init__(self) -> None:
        for param in self.params:
            if param.default is None and set(param.required_for) < set(self.tasks) and param.kind != "label":
                raise ValueError(f"'{param.name}' of '{self.key}' has neither a default nor is it required")


CATALOGUE: dict[str, Metric] = {}


def register(metric: Metric) -> Metric:
    """Enter a metric into the one table; a key may be declared once."""
    if metric.key in CATALOGUE:
        raise ValueError(f"metric '{metric.key}' is declared twice")
    CATALOGUE[metric.key] = metric
    return metric


def undefined_result(reason: str, *notes: str) -> Result:
    """No value, with the reason."""
    return Result(None, reason, tuple(notes))


def rounded_result(number: Real, notes: Iterable[str] = ()) -> Result:
    """The nearest binary64 number as the value."""
    return Result(number.nearest(), None, tuple(notes), exact=number)
