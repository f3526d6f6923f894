"""What metrics declare about single labels: values follow from the counts named, and there are no more of these than said."""

import itertools
import json
import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from app.scoring.declaration.distinct_value_bounds import GoldSize
from app.scoring.declaration.metric import CATALOGUE, MetricCall
from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.declaration.task import TaskKind
from app.scoring.evaluate import evaluate
from app.scoring.evaluation_input import EvaluationInput
from app.scoring.standings import round_significant
from tests.each_case import for_each
from tests.scoring import strategies
from tests.scoring.case_builder import case, value
from tests.scoring.test_edit_distance import textbook_distance

Row = Any  # a label, or the tuple of labels of a set
Rows = Sequence[Row]
CLASSES = ("a", "b", "c")
# Few instances, and scores that tell labellings apart as well as any: all different, or level in part.
SINGLE = [[0.6, 0.3, 0.1], [0.1, 0.8, 0.1], [0.15, 0.35, 0.5], [0.6, 0.3, 0.1], [0.9, 0.06, 0.04], [0.02, 0.01, 0.97]]
SETS = [[0.9, 0.4, 0.4], [0.2, 0.8, 0.1], [0.6, 0.6, 0.6], [0.35, 0.7, 0.05]]


def _sets(classes: Sequence[str]) -> list[tuple[str, ...]]:
    return [chosen for size in range(len(classes) + 1) for chosen in itertools.combinations(classes, size)]


def _given(task: TaskKind, n: int, m: int) -> tuple[tuple[str, ...], list[Row], list[list[float]]]:
    """Classes, predictions and scores."""
    classes = CLASSES[:m]
    if task == "multilabel":
        scores = [row[:m] for row in SETS[:n]]
        return (
            classes,
            [tuple(name for name, p in zip(classes, row, strict=True) if p >= 0.5) for row in scores],
            scores,
        )
    scores = [[row[0], 1 - row[0]] for row in SINGLE[:n]] if task == "binary" else SINGLE[:n]
    return classes, [max(zip(row, classes, strict=True))[1] for row in scores], scores


def _case(task: TaskKind, n: int, m: int, gold: Rows) -> EvaluationInput:
    classes, predicted, scores = _given(task, n, m)
    tree = {name: ["x" if at else "y"] for at, name in enumerate(classes)} | {"x": ["z"], "y": ["z"], "z": []}
    return case(
        task,
        classes,
        gold,
        predicted,
        scores,
        folds=[str(at % 3) for at in range(n)],
        groups=[str(at % 2) for at in range(n)],
        hierarchy=tree,
        cost_matrix={a: {b: 2.0 ** (3 * i + j) for j, b in enumerate(classes)} for i, a in enumerate(classes)},
        train_frequencies={name: 3**at for at, name in enumerate(classes)},
        class_weights={name: 1 + 7.0**at for at, name in enumerate(classes)},
    )


def _table(own: Callable[[Row], bool], gold: Rows, predicted: Rows) -> tuple[int, ...]:
    pairs = Counter((own(y), own(p)) for y, p in zip(gold, predicted, strict=True))
    return tuple(pairs[in_gold, read] for in_gold in (False, True) for read in (False, True))


def _has(name: str) -> Callable[[Row], bool]:
    return lambda row: name in row if isinstance(row, tuple) else row == name


def _instances(gold: Rows, predicted: Rows) -> Any:
    return sorted(
        (len(p), len(y), len(set(p) & set(y))) for p, y in zip(predicted, gold, strict=True) if isinstance(y, tuple)
    )


def _order(positive: Sequence[bool], scores: Sequence[float]) -> tuple[int, int]:
    """Positives, and twice the pairs of a positive and a negative in the right order, level ones counted half."""
    ups = [score for is_one, score in zip(positive, scores, strict=True) if is_one]
    downs = [score for is_one, score in zip(positive, scores, strict=True) if not is_one]
    return len(ups), sum(2 * (up > down) + (up == down) for up in ups for down in downs)


def _level(positive: Sequence[bool], scores: Sequence[float]) -> int:
    """Pairs of a positive and a negative with the same score."""
    both = itertools.product(zip(positive, scores, strict=True), repeat=2)
    return sum(a and not b and s == t for (a, s), (b, t) in both)


class Statistics:
    """The counts that a granularity names, taken from labels by plain Python; None for those that may tell all apart."""

    def __init__(self, task: TaskKind, n: int, m: int, call: MetricCall) -> None:
        self.classes, self.predicted, self.scores = _given(task, n, m)
        self.task, self.call = task, call

    def of(self, gold: Rows) -> Any:
        name = self.call.metric.granularity.name
        return getattr(self, name)(gold)

    def right(self, gold: Rows) -> Any:
        if self.call.metric.key in {"instance_status_partial", "instance_status_none"}:
            touched = [bool(set(p) & set(y)) for p, y in zip(self.predicted, gold, strict=True)]
            full = [set(p) == set(y) for p, y in zip(self.predicted, gold, strict=True)]
            wanted = "partial" in self.call.metric.key
            return sum(t == wanted and not f for t, f in zip(touched, full, strict=True))
        predicted = self._top() if self.call.metric.key.endswith("_top_k") else self.predicted
        return sum(set(p) == set(y) for p, y in zip(predicted, gold, strict=True))

    def _top(self) -> list[tuple[str, ...]]:
        k = int(self.call.params["k"])
        ranked = [sorted(range(len(row)), key=lambda at: (-row[at], at))[:k] for row in self.scores]
        return [tuple(self.classes[at] for at in row) for row in ranked]

    def _read(self) -> Rows:
        return self._top() if self.call.metric.key.endswith("_top_k") else self.predicted

    def decisions(self, gold: Rows) -> Any:
        if self.call.metric.key.startswith("label_"):
            least = 1 if self.call.options["empty_label"] == "as_class" else 0
            return sum(max(len(row), least) for row in gold)
        if self.call.metric.key == "levenshtein":
            empty = self.call.options["empty_label"] == "as_class"
            own: list[Callable[[Row], bool]] = [*map(_has, self.classes), lambda row: empty and row == ()]
            vectors = [[[has(row) for has in own] for row in rows] for rows in (gold, self.predicted)]
            return sum(textbook_distance(y, p) for y, p in zip(*vectors, strict=True))
        table = self.pooled_table(gold)
        return table[0] + table[3]

    def one_table(self, gold: Rows) -> Any:
        own = self.call.params.get("label") or self.classes[0]
        return _table(_has(own), gold, self.predicted)

    def pooled_table(self, gold: Rows) -> Any:
        return tuple(map(sum, zip(*self.class_tables(gold), strict=True)))

    def class_tables(self, gold: Rows) -> Any:
        own = [*map(_has, self.classes)]
        if self.call.options["empty_label"] == "as_class":
            own.append(lambda row: row == ())
        return tuple(_table(one, gold, self._read()) for one in own)

    def confusion(self, gold: Rows) -> Any:
        return sorted(zip(self.predicted, gold, strict=True)) if self.task != "multilabel" else tuple(gold)

    def instances(self, gold: Rows) -> Any:
        if self.call.metric.key == "one_error":
            best = [[name for name, s in zip(self.classes, row, strict=True) if s == max(row)] for row in self.scores]
            read = [row if self.call.params["ties"] == "expected" else row[:1] for row in best]
            return _instances(gold, [tuple(row) for row in read])
        return _instances(gold, self._read())

    def hits(self, gold: Rows) -> Any:
        if self.call.params.get("ties") == "average" and self.task == "multilabel":
            return tuple(gold)
        if self.task != "multilabel":
            own = [row[self.classes.index(y)] for row, y in zip(self.scores, gold, strict=True)]
            at = [
                (sum(s > mine for s in row), sum(s == mine for s in row))
                for row, mine in zip(self.scores, own, strict=True)
            ]
            k = int(self.call.params["k"])
            if self.call.params["ties"] == "average":
                return sorted((max(0, min(k - above, level)), level) for above, level in at)
            if self.call.params["ties"] in {"declared", "last"}:
                turn = 1 if self.call.params["ties"] == "declared" else -1
                order = [sorted(range(len(row)), key=lambda c: (-row[c], turn * c)) for row in self.scores]
                return sum(self.classes.index(y) in ranks[:k] for ranks, y in zip(order, gold, strict=True))
            ahead = 1 if self.call.params["ties"] == "best" else 0
            return sum((above + 1 if ahead else above + level) <= k for above, level in at)
        return sorted(self._ranked(row, set(y)) for row, y in zip(self.scores, gold, strict=True))

    def _ranked(self, row: list[float], wanted: set[str]) -> tuple[int, ...]:
        """How many labels are wanted, how many of the first k are, and the place of the first of them."""
        ties = self.call.params["ties"]
        right = [name in wanted for name in self.classes]
        keys: dict[str, Callable[[int], int]] = {
            "worst": lambda c: right[c],
            "best": lambda c: not right[c],
            "last": lambda c: -c,
        }
        order = sorted(range(len(row)), key=lambda c: (-row[c], keys[ties](c) if ties in keys else c))
        k = int(self.call.params.get("k") or max(len(wanted), 1))
        if self.call.metric.key == "mrr":
            return (next((place for place, c in enumerate(order) if right[c]), -1),)
        return len(wanted), sum(right[c] for c in order[:k])

    def places(self, gold: Rows) -> Any:
        found: list[tuple[int, ...]] = []
        for row, y in zip(self.scores, gold, strict=True):
            positive = [name in y for name in self.classes]
            if self.call.metric.key == "ranking_loss":
                half = self.call.params["ties"] == "half"
                found.append((*_order(positive, row), 0 if half else _level(positive, row)))
            else:
                found.append(
                    (
                        max(
                            (sum(s >= t for s in row) for t, is_one in zip(row, positive, strict=True) if is_one),
                            default=-1,
                        ),
                    )
                )
        return sorted(found)

    def _columns(self, gold: Rows) -> list[tuple[list[bool], list[float]]]:
        return [
            ([_has(name)(y) for y in gold], [row[at] for row in self.scores]) for at, name in enumerate(self.classes)
        ]

    def _pair_counts(self, column: tuple[list[bool], list[float]]) -> tuple[int, int]:
        positives, twice = _order(*column)
        level = _level(*column)
        return positives, {"half": twice, "full": twice + level, "zero": twice - level}[self.call.params["ties"]]

    def pairs(self, gold: Rows) -> Any:
        own = self.call.params.get("label") or self.classes[0]
        return self._pair_counts(self._columns(gold)[self.classes.index(own)])

    def pairs_by_class(self, gold: Rows) -> Any:
        return [self._pair_counts(column) for column in self._columns(gold)]

    def pooled_pairs(self, gold: Rows) -> Any:
        own, scores = (list(itertools.chain(*part)) for part in zip(*self._columns(gold), strict=True))
        return self._pair_counts((own, scores))

    def pairs_of_classes(self, gold: Rows) -> Any:
        found = []
        column = self.call.params.get("label")
        for a, b in itertools.permutations(range(len(self.classes)), 2):
            both = [
                (y == self.classes[a], row)
                for y, row in zip(gold, self.scores, strict=True)
                if y in (self.classes[a], self.classes[b])
            ]
            at = a if column is None else self.classes.index(column)
            found.append((len(both), self._pair_counts(([is_a for is_a, _ in both], [row[at] for _, row in both]))))
        return found

    def _in_bins(self, gold: Rows, at: int) -> Any:
        width = int(self.call.params["bins"])
        own = Counter(
            (max(1, -int(-row[at] * width // 1)), _has(self.classes[at])(y))
            for row, y in zip(self.scores, gold, strict=True)
        )
        return sorted(own.items())

    def bins(self, gold: Rows) -> Any:
        label = self.call.params.get("label")
        if label is None and self.task == "multiclass":
            width = int(self.call.params["bins"])
            return sorted(
                (-int(-max(row) * width // 1), p == y)
                for row, p, y in zip(self.scores, self.predicted, gold, strict=True)
            )
        return self._in_bins(gold, self.classes.index(label or self.classes[0]))

    def bins_by_class(self, gold: Rows) -> Any:
        return [self._in_bins(gold, at) for at in range(len(self.classes))]


def _labellings(task: TaskKind, n: int, m: int) -> list[tuple[Row, ...]]:
    one: Sequence[Row] = _sets(CLASSES[:m]) if task == "multilabel" else CLASSES[:m]
    return list(itertools.product(one, repeat=n))


SMALL: list[tuple[TaskKind, int, int]] = [("binary", 5, 2), ("multiclass", 3, 3), ("multilabel", 3, 2)]
LARGER: list[tuple[TaskKind, int, int]] = [("binary", 6, 2), ("multiclass", 5, 3), ("multilabel", 4, 2)]
OTHERWISE = {"ties": "average", "empty_label": "as_class", "label_set": "gold", "zero_division": "1"}


def _statistics(task: TaskKind, n: int, m: int, options: Mapping[str, str] | None = None) -> dict[str, Statistics]:
    """The counts of every metric that is for the task, by its string."""
    gold = _labellings(task, n, m)[0]
    return {call.text: Statistics(task, n, m, call) for call in strategies.calls(_case(task, n, m, gold), options)}


@for_each("options", [{}, OTHERWISE])
@for_each("task, n, m", SMALL)
def test_values_follow_from_the_counts_that_their_metric_names(
    task: TaskKind, n: int, m: int, options: Mapping[str, str]
) -> None:
    statistics = _statistics(task, n, m, options)
    calls = [one.call for one in statistics.values()]
    sizes, by_counts = GoldSize(n, m, task == "multilabel"), defaultdict[str, dict[str, str]](dict)
    shown = defaultdict[str, set[str]](set)
    every = _labellings(task, n, m)
    for gold in random.Random(7).sample(every, 7 if options else 12):
        for text, result in evaluate(_case(task, n, m, gold), calls).items():
            shown[text].add(json.dumps([round_significant(result.value, 6), result.data], default=str))
            found = statistics[text]
            floor = found.call.metric.floor
            assert not (floor and result.value) or abs(result.value) >= 1 / (n * m + 1) ** floor, (text, gold)
            if not found.call.metric.granularity.separating:
                value, counts = json.dumps([result.value, result.data], default=str), json.dumps(found.of(gold))
                assert by_counts[text].setdefault(counts, value) == value, (text, gold)
    for call in calls:
        bits = call.metric.granularity.bits(sizes, call)
        assert len(shown[call.text]) <= 2**bits + 1 + 1e-6, call.text  # + 1: no value


@for_each("task, n, m", LARGER)
def test_there_are_no_more_such_counts_than_the_bound_says(task: TaskKind, n: int, m: int) -> None:
    labellings, sizes = _labellings(task, n, m), GoldSize(n, m, task == "multilabel")
    first = {one.call.metric.granularity.name: one for one in reversed(_statistics(task, n, m).values())}
    for name, found in first.items():
        granularity = found.call.metric.granularity
        if not granularity.separating:
            different = {json.dumps(found.of(gold)) for gold in labellings}
            assert len(different) <= 2 ** granularity.count(sizes, found.call.params) + 1e-6, name
            assert granularity.bits(sizes, found.call) <= sizes.bits


def test_the_bounds_of_counts_grow_slowly_and_those_of_orders_with_the_gold() -> None:
    sizes = GoldSize(1000, 2)
    bits = {
        key: CATALOGUE[key].granularity.bits(sizes) for key in ("accuracy", "f1", "auc", "average_precision", "brier")
    }
    assert bits["accuracy"] < 10 < bits["f1"] < 18 < bits["auc"] < 29
    assert bits["average_precision"] == bits["brier"] == 1000
    assert CATALOGUE["accuracy"].granularity.bits(sizes, weighted=True) == 1000


def test_bounds_of_very_many_classes_are_numbers_soon() -> None:
    for classes in (1, 50_000, 1_000_000):
        for metric in CATALOGUE.values():
            params = {param.name: param.default or "1" for param in metric.params}
            for sizes in (GoldSize(3_000_000, classes), GoldSize(3_000_000, classes, multilabel=True)):
                assert 0 <= metric.granularity.count(sizes, params) < math.inf, (metric.key, sizes)


def _average_precision(labelling: int, n: int) -> float:
    """Of instances ranked one by one, the first bit first."""
    found = [at for at in range(n) if labelling >> at & 1]
    return math.fsum((rank + 1) / (at + 1) for rank, at in enumerate(found)) / len(found)


def test_one_average_precision_at_6_digits_fits_one_of_65536_labellings() -> None:
    scores = [[1 - at / 100] for at in range(16)] + [[0.5]] * 14  # 14 that everybody knows to be negative, far below
    true = 0b1011001110001101
    gold = ["yes" if at < 16 and true >> at & 1 else "no" for at in range(30)]
    of = case("binary", ("yes", "no"), gold, gold, scores)
    shown = round_significant(value(of, "average_precision"), 6)
    fitting = [one for one in range(1, 2**16) if round_significant(_average_precision(one, 16), 6) == shown]
    assert fitting == [true]
    call = parse_metric("average_precision", task="binary")
    assert call.metric.granularity.bits(GoldSize(30, 2), call) >= 16
