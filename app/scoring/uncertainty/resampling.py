"""Bootstrap resamples of one evaluation input: of its cells, its instances or its groups, whichever gives the same.

With one label per instance and metrics of hard labels, instances with equal gold, prediction, weight and fold are one
cell, and the counts of a resample are multinomial: the distribution is that of drawing instances, at a cost that does
not grow with their number. Groups, such as documents, are drawn whole. In all other cases instances are drawn.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.scoring.declaration.metric import RANKING, SCORES, MetricCall
from app.scoring.draw_context import Counts
from app.scoring.evaluation_input import EvaluationInput, Grouping, Labels
from app.scoring.uncertainty.cells import cells_of, division_columns, has_single_labels, label_places, text_places
from app.scoring.uncertainty.draw_values import block_size
from app.scoring.uncertainty.draws import cell_draws, unit_draws
from app.scoring.uncertainty.seeds import RandomSource, content_hash

Int = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Cells:
    """Rows of an input that stand for `counts` instances each, in an order that depends on the texts of labels alone."""

    case: EvaluationInput
    counts: Int


def has_cells(case: EvaluationInput, calls: Sequence[MetricCall]) -> bool:
    """Whether these metrics see nothing of an instance but one gold and one predicted label, its weight and its fold."""
    return has_single_labels(case) and case.groups is None and not any(map(sees_scores, calls))


def collapse(case: EvaluationInput) -> Cells:
    """The cells of an input for which `has_cells` holds."""
    classes = case.spec.classes
    columns = [label_places(side.codes, classes) for side in (case.gold, case.predicted)]
    found = cells_of([*columns, *division_columns(case)])
    return Cells(case.take(found.rows), found.counts)


@dataclass(frozen=True, slots=True)
class GroupPlaces:
    """The groups that occur, in the order of their names: how many, and the place of the group of each row."""

    count: int
    of_row: Int

    @property
    def starts(self) -> Int:
        """Where each group begins among the rows sorted by group."""
        return np.concatenate([[0], np.cumsum(np.bincount(self.of_row, minlength=self.count))[:-1]])


def group_places(groups: Grouping) -> GroupPlaces:
    """The groups that occur, in the order of their names."""
    places = text_places(groups.names)
    present = np.unique(places[groups.codes])
    return GroupPlaces(len(present), np.searchsorted(present, places[groups.codes]))


@dataclass(frozen=True, slots=True)
class Resampling:
    """How an input is resampled: `case` has the rows whose multiplicities the blocks give.

    `unit` is what is drawn, `units` how many of them there are.
    """

    case: EvaluationInput
    unit: str
    units: int
    counts: Int | None = None
    group_of_row: Int | None = None

    @classmethod
    def of(cls, case: EvaluationInput, calls: Sequence[MetricCall]) -> "Resampling":
        """The cheapest resampling for these metrics; the rows of the case are in the order of their ids."""
        if case.groups is not None:
            groups = group_places(case.groups)
            return cls(case, "group", groups.count, None, groups.of_row)
        if has_cells(case, calls):
            cells = collapse(case)
            return cls(cells.case, "instance", case.gold.n, cells.counts)
        return cls(case, "instance", case.gold.n)

    def blocks(self, random: RandomSource, draws: int) -> Iterator[Counts]:
        """Multiplicities of rows × draws, a block of draws at a time; the numbers do not depend on the size of blocks."""
        size = block_size(self.case.gold.n)
        for start in range(0, draws, size):
            count = min(size, draws - start)
            if self.counts is not None:
                yield cell_draws(random, self.counts, count)
            elif self.group_of_row is not None:
                yield unit_draws(random, self.units, count)[self.group_of_row]
            else:
                yield unit_draws(random, self.units, count)


def in_order_of(case: EvaluationInput, ids: Sequence[str]) -> EvaluationInput:
    """The input with its rows in the order of their ids, by which draws are assigned."""
    if all(first < second for first, second in itertools.pairwise(ids)):
        return case
    return case.take(np.array(sorted(range(len(ids)), key=ids.__getitem__), dtype=np.int64))


def sees_scores(call: MetricCall) -> bool:
    """Whether a metric is computed from more than hard labels: from scores, or from the order of labels."""
    return SCORES in call.metric.needs or RANKING in call.metric.needs


class Content:
    """The content hashes of one input: of its hard labels, and of its labels and scores."""

    def __init__(self, case: EvaluationInput, ids: Sequence[str]) -> None:
        self._case, self._ids = case, ids
        self._found: dict[bool, str] = {}

    def seen_by(self, call: MetricCall) -> str:
        """The hash of what a metric sees; computed once."""
        scores = sees_scores(call)
        if scores not in self._found:
            case = self._case
            parts = (self._ids, case.predicted, case.spec.classes, case.scores if scores else None)
            self._found[scores] = content_hash(*parts)
        return self._found[scores]


def prediction_codes(case: EvaluationInput, call: MetricCall) -> NDArray[np.int64]:
    """A number per row that is equal where a metric sees equal predictions: to count the rows on which systems differ.

    The numbers can be compared within one process only.
    """
    labels, scores = case.predicted, case.scores if sees_scores(call) else None
    if scores is None and labels.offsets is None:
        return labels.codes.astype(np.int64)
    in_order = RANKING in call.metric.needs
    return np.array([hash(part) for part in _row_bytes(labels, scores, in_order=in_order)], dtype=np.int64)


def _row_bytes(labels: Labels, scores: NDArray[np.float64] | None, *, in_order: bool) -> Iterator[bytes]:
    sets = labels.as_sets()
    assert sets.offsets is not None
    offsets = sets.offsets.tolist()
    for row in range(labels.n):
        codes = sets.codes[offsets[row] : offsets[row + 1]]
        text = (codes if in_order else np.sort(codes)).tobytes()
        yield text if scores is None else text + b"/" + (scores[row] + 0.0).tobytes()
