"""The reports of an item analysis as plain values: instances in some order, pairs of systems, near-duplicates."""

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import IO, Any

from app.analysis.items.agreement import measure_agreement
from app.analysis.items.answers import AnswerMatrix
from app.analysis.items.difficulty import ItemStatistics, Votes, count_votes, item_statistics, order_rows, select_rows
from app.analysis.items.near_duplicates import (
    MIN_DEVIATIONS,
    MIN_ERRORS,
    NEAR,
    ErrorPair,
    compare_errors,
)
from app.text.spreadsheet_cells import escape_formula

SORTS = ("suspicion", "right", "discrimination", "agreement", "id")
SELECTIONS = ("all", "suspect", "none_right", "all_right", "negative")
MAX_ANSWERS = 5
CSV_COLUMNS = (
    *("id", "gold", "right", "systems", "right_share", "suspicion", "discrimination", "total_correlation"),
    *("agreement", "error_agreement", "rival", "rival_votes"),
)
MEANINGS = {
    "suspicion": "The share of systems that give the most frequent wrong answer, less the share that is right: above 0, "
    "more systems contradict the gold in the same way than agree with it.",
    "right_share": "The share of systems that are right: the difficulty index of classical test theory.",
    "discrimination": "The correlation over the systems between being right here and the number of other instances that "
    "they get right (corrected item-total correlation): below 0, better systems fail here more often.",
    "total_correlation": "The same with the number of all instances, this one included (point-biserial correlation).",
    "agreement": "Of all pairs of systems, the share with the same answer.",
    "error_agreement": "Of the pairs of systems that are both wrong, the share with the same answer.",
}
EXACT_SETS = "An instance is right if its set of labels equals the gold; label_right_share looks at each label alone."
WARNING = (
    "Accurate systems are rarely wrong, so agreement on right answers says nothing. What is compared is the number of "
    "equal wrong answers with its expectation if the two were independent. Seeds of one model, or systems of one public "
    "model, are no independent systems either: a reported pair is a reason to ask, not a proof."
)


class ItemAnalysis:
    """The analysis of one matrix of answers; what several reports need is computed once."""

    def __init__(self, matrix: AnswerMatrix) -> None:
        self.matrix = matrix
        self.votes: Votes = count_votes(matrix)
        self.statistics: ItemStatistics = item_statistics(matrix, self.votes)

    def summary(self) -> dict[str, Any]:
        """How many instances and systems there are, how many instances belong to each selection, and Fleiss' kappa."""
        matrix = self.matrix
        systems, n = matrix.codes.shape
        counts = {name: int(select_rows(self.statistics, systems, name).sum()) for name in SELECTIONS}
        found: dict[str, Any] = {"instances": n, "systems": systems, "task": matrix.task, "counts": counts}
        if matrix.label_errors is not None:
            found["labels"] = self._labels()
        return found

    def _labels(self) -> list[dict[str, Any]]:
        """How often all systems together miss each label, and give it where the gold does not have it."""
        errors = self.matrix.label_errors
        assert errors is not None
        columns = zip(
            self.matrix.classes, errors.positives.tolist(), errors.missed.tolist(), errors.false.tolist(), strict=True
        )
        return [{"label": label, "in_gold": a, "missed": b, "false": c} for label, a, b, c in columns]

    def rows(self, sort: str, select: str) -> list[int]:
        """The row numbers of a selection in an order."""
        chosen = select_rows(self.statistics, len(self.matrix.systems), select)
        return [row for row in order_rows(self.statistics, sort).tolist() if chosen[row]]

    def items(self, rows: Sequence[int]) -> Iterator[dict[str, Any]]:
        """The instances of these rows, with what the systems answered, the most frequent answer first."""
        return map(self._item, rows)

    def _item(self, row: int) -> dict[str, Any]:
        of, matrix, systems = self.statistics, self.matrix, len(self.matrix.systems)
        first, last = int(self.votes.starts[row]), int(self.votes.starts[row + 1])
        answers = [self._answer(at) for at in range(first, min(last, first + MAX_ANSWERS))]
        item = {
            "id": matrix.ids[row],
            "gold": matrix.gold_labels(row),
            "right": int(of.right[row]),
            "systems": systems,
            "right_share": int(of.right[row]) / systems,
            "suspicion": float(of.suspicion[row]),
            "discrimination": _number(of.discrimination[row]),
            "total_correlation": _number(of.total_correlation[row]),
            "agreement": _number(of.agreement[row]),
            "error_agreement": _number(of.error_agreement[row]),
            "answers": answers,
            "more_answers": last - first - len(answers),
        }
        if matrix.right_labels is not None:
            item["label_right_share"] = float(matrix.right_labels[row]) / systems
        return item

    def _answer(self, at: int) -> dict[str, Any]:
        code = int(self.votes.answers[at])
        labels = None if code < 0 else list(self.matrix.texts[code])
        return {"labels": labels, "votes": int(self.votes.counts[at]), "right": bool(self.votes.right[at])}

    def agreement(self) -> dict[str, Any]:
        """Fleiss' kappa of all systems, and each pair of them: systems are named by their position."""
        found = measure_agreement(self.matrix, self.votes)
        pairs = [
            {
                "a": a,
                "b": b,
                "agreement": found.rate(a, b),
                "kappa": found.kappa(a, b),
                "error_overlap": found.error_overlap(a, b),
                "both_wrong": int(found.both_wrong[a, b]),
                "same_wrong": int(found.same_wrong[a, b]),
            }
            for a, b in combinations(range(len(self.matrix.systems)), 2)
        ]
        return {"instances": found.n, "fleiss_kappa": found.fleiss, "wrong": found.wrong.tolist(), "pairs": pairs}

    def near_duplicates(self, teams: Sequence[str]) -> dict[str, Any]:
        """The pairs of different teams with more equal errors than independent systems have, then the next ones."""
        shown, compared = compare_errors(self.matrix, self.votes, teams)
        shown.sort(key=lambda pair: not pair.reported)
        return {
            "instances": len(self.matrix.ids),
            "compared": compared,
            "reported": sum(pair.reported for pair in shown),
            "thresholds": {"overlap": NEAR, "deviations": MIN_DEVIATIONS, "errors": MIN_ERRORS},
            "meaning": WARNING,
            "pairs": [self._pair(pair) for pair in shown],
            "left_out": compared - len(shown),
        }

    def _pair(self, pair: ErrorPair) -> dict[str, Any]:
        return {
            "a": pair.a,
            "b": pair.b,
            "reported": pair.reported,
            "identical": pair.identical,
            "agreement": pair.equal / len(self.matrix.ids),
            "either_wrong": pair.either_wrong,
            "both_wrong": pair.both_wrong,
            "same_wrong": pair.same_wrong,
            "overlap": pair.overlap,
            "expected": pair.expected,
            "deviations": pair.deviations,
        }


def write_items_csv(stream: IO[str], items: Iterator[dict[str, Any]]) -> None:
    """Write instances as CSV; several labels are separated by line breaks within the cell."""
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(CSV_COLUMNS)
    for item in items:
        wrong: Mapping[str, Any] = next((each for each in item["answers"] if not each["right"]), {})
        labels = wrong.get("labels") or ()
        texts = {"gold": "\n".join(item["gold"]), "rival": "\n".join(labels), "rival_votes": wrong.get("votes", 0)}
        cells = [(item | texts)[name] for name in CSV_COLUMNS]
        writer.writerow([escape_formula(cell) if isinstance(cell, str) else cell for cell in cells])


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
