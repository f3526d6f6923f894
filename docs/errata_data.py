"""The small tables of the source documents as evaluation inputs, and their figures as this scorer computes them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from app.scoring.evaluation_input import EvaluationInput
from tests.scoring.case_builder import case, results

Counts = Sequence[Sequence[int]]


def matrix(classes: Sequence[str], counts: Counts, train: Sequence[int] | None = None) -> EvaluationInput:
    """The evaluation input with these counts; rows are gold."""
    pairs = [
        (gold, predicted)
        for gold, row in zip(classes, counts, strict=True)
        for predicted, times in zip(classes, row, strict=True)
        for _ in range(times)
    ]
    frequencies = None if train is None else dict(zip(classes, train, strict=True))
    return case("multiclass", classes, *zip(*pairs, strict=True), train_frequencies=frequencies)


def sets(classes: str, *pairs: tuple[str, str]) -> EvaluationInput:
    """The evaluation input with these sets of one-letter labels: gold, predicted."""
    return case("multilabel", list(classes), [list(gold) for gold, _ in pairs], [list(other) for _, other in pairs])


W6, W8, W9 = "wenzel_fig6", "wenzel_fig8", "wenzel_fig9"
T2, T3, T4, T5, T6 = (f"van_asch_table{k}" for k in range(2, 7))
DOERING, SEFIDIAN = "doering_example", "sefidian_example"
PETS = ("Cat", "Dog", "Mouse")
FOUR = ("c1", "c2", "c3", "c4")
TABLE3: Counts = ((3, 5, 2, 0), (1, 1, 4, 4), (1, 2, 6, 5), (0, 0, 0, 6))
TABLES = {
    W6: matrix(PETS, ((9, 1, 0), (3, 6, 1), (1, 2, 7))),
    W8: matrix(PETS, ((9, 1, 0), (6, 12, 2), (3, 6, 21))),
    W9: sets("abcdefg", ("abc", "abc"), ("abcde", "abde"), ("cd", "ef"), ("acdg", "bcd"), ("g", "acdfg")),
    T2: matrix(("c1", "c2"), ((10, 10), (10, 90))),
    T3: matrix(FOUR, TABLE3, (10, 20, 30, 40)),
    T4: matrix(FOUR, TABLE3, (25, 25, 35, 15)),
    T5: matrix(FOUR, ((6, 0, 3, 1), (0, 6, 3, 1), (3, 3, 6, 0), (1, 1, 0, 6)), (25, 25, 30, 20)),
    T6: sets("ABC", ("A", "BC"), ("A", "A")),
    DOERING: matrix(
        tuple("ABCDE"),
        ((35, 0, 0, 5, 5), (0, 9, 0, 1, 0), (0, 5, 10, 0, 0), (0, 0, 2, 23, 0), (2, 2, 0, 0, 1)),
    ),
    SEFIDIAN: sets("abc", ("b", "bc"), ("bc", "bc"), ("ac", "b"), ("c", "")),
    # Table 3 after changes: one false c4 moved to c2; also two false c2 moved to c1; two answers of c3 corrected
    "table3_one_move": matrix(FOUR, (*TABLE3[:2], (1, 3, 6, 4), TABLE3[3]), (10, 20, 30, 40)),
    "table3_two_moves": matrix(FOUR, (*TABLE3[:2], (3, 1, 6, 4), TABLE3[3]), (10, 20, 30, 40)),
    "table3_mended": matrix(FOUR, (*TABLE3[:2], (1, 2, 8, 3), TABLE3[3])),
    # a fold of the cross-validation: 8 of 10 positives predicted, and 2 of 90 others as positive
    "fold": matrix(("A", "B"), ((8, 2), (2, 88))),
    # recalls of 4/5 and 977/1000, nine times as many B as A
    "proportion": matrix(("A", "B"), ((800, 200), (207, 8793))),
}


def as_sets(name: str, more: int) -> EvaluationInput:
    """A table as sets of one label, with the right label added to the first `more` wrong answers."""
    of = TABLES[name]
    gold = [of.spec.classes[code] for code in of.gold.codes]
    predicted = [[of.spec.classes[code]] for code in of.predicted.codes]
    wrong = [at for at, label in enumerate(gold) if label not in predicted[at]]
    for at in wrong[:more]:
        predicted[at].append(gold[at])
    return case("multilabel", of.spec.classes, [[label] for label in gold], predicted)


TABLES["table3_added"] = as_sets(T3, 2)


@dataclass(frozen=True, slots=True)
class Figure:
    """A metric of one of the tables with its exact value; `exact` computes it and raises AssertionError if they differ."""

    table: str
    metric: str
    fraction: str
    options: dict[str, str] = field(default_factory=dict)

    def exact(self) -> Fraction:
        """The exact value, after the scorer has confirmed it to two units in the last place."""
        expected = Fraction(self.fraction)
        result = results(TABLES[self.table], [self.metric], self.options)[self.metric]
        assert result.value is not None, (self, result.reason)
        off = abs(Fraction(result.value) - expected)
        assert off <= 2 * math.ulp(float(expected)), (self, result.value)
        return expected


def reason(table: str, metric: str, options: dict[str, str]) -> str:
    """Why a metric has no value on one of the tables."""
    result = results(TABLES[table], [metric], options)[metric]
    assert result.value is None
    return str(result.reason)


FIGURES = {
    "w weighted precision": Figure(W8, "precision_weighted", "3935/5244"),
    "w micro precision": Figure(W8, "precision_micro", "7/10"),
    "w accuracy 6": Figure(W6, "accuracy_ovr_micro", "37/45"),
    "w accuracy 8": Figure(W8, "accuracy_ovr_micro", "4/5"),
    "w micro f 6": Figure(W6, "f1_micro", "11/15"),
    "w micro recall 6": Figure(W6, "recall_micro", "11/15"),
    "w weighted f": Figure(W8, "f1_weighted", "41005/57876"),
    "w mouse f": Figure(W8, "f1:label=Mouse", "42/53"),
    "w recall 9": Figure(W9, "recall_samples", "33/50"),
    "w precision 9": Figure(W9, "precision_samples", "43/75"),
    "w f 9": Figure(W9, "f1_samples", "176/315"),
    "w f of averages 9": Figure(W9, "f1_of_averages_samples", "2838/4625"),
    "w hamming 6": Figure(W6, "hamming_loss", "8/45"),
    "w error 6": Figure(W6, "error_rate", "4/15"),
    "w micro precision 9": Figure(W9, "precision_micro", "10/17"),
    "w micro recall 9": Figure(W9, "recall_micro", "2/3"),
    "w micro f 9": Figure(W9, "f1_micro", "5/8"),
    "v f2": Figure(T3, "f2:label=c1", "1/3"),
    "v macro precision 5": Figure(T5, "precision_macro", "49/80"),
    "v macro recall 5": Figure(T5, "recall_macro", "49/80"),
    "v lfb": Figure(T3, "precision_lfb_train", "79/200"),
    "v lfb one move": Figure("table3_one_move", "precision_lfb_train", "2543/6300"),
    "v lfb two moves": Figure("table3_two_moves", "precision_lfb_train", "11/28"),
    "v micro": Figure(T3, "precision_micro", "2/5"),
    "v micro mended": Figure("table3_mended", "precision_micro", "9/20"),
    "v micro added": Figure("table3_added", "precision_micro", "3/7"),
    "v fold": Figure("fold", "f1:label=A", "4/5"),
    "v proportion": Figure("proportion", "f1_macro", "32041951/36111951"),
    "d micro f": Figure(DOERING, "f1_micro", "39/50"),
    "d f of averages": Figure(DOERING, "f1_of_averages_macro", "88365679/130678405"),
    "d macro f": Figure(DOERING, "f1_macro", "525619/791505"),
    "d weighted accuracy": Figure(DOERING, "weighted_accuracy", "1559/2250"),
    "s precision": Figure(SEFIDIAN, "precision_samples", "3/8"),
    "s recall": Figure(SEFIDIAN, "recall_samples", "1/2"),
    "s exact match": Figure(SEFIDIAN, "subset_accuracy", "1/4"),
    "s hamming": Figure(SEFIDIAN, "hamming_loss", "5/12"),
    "s f": Figure(SEFIDIAN, "f1_samples", "5/12"),
}
"""The figures of the page by name; tests compare them with the golden vectors."""

SOUND = {
    (T2, "precision_macro"): ("0.7", "7/10"),
    (T2, "recall_macro"): ("0.7", "7/10"),
    (T2, "precision_micro"): ("0.83", "5/6"),
    (T2, "recall_micro"): ("0.83", "5/6"),
    (T3, "precision_macro"): ("0.406", "13/32"),
    (T3, "recall_macro"): ("0.457", "16/35"),
    (T3, "precision_micro"): ("0.4", "2/5"),
    (T3, "recall_micro"): ("0.4", "2/5"),
    (T3, "precision_lfb_train"): ("0.395", "79/200"),
    (T3, "recall_lfb_train"): ("0.579", "81/140"),
    (T4, "precision_macro"): ("0.406", "13/32"),
    (T4, "recall_macro"): ("0.457", "16/35"),
    (T4, "precision_micro"): ("0.4", "2/5"),
    (T4, "recall_micro"): ("0.4", "2/5"),
    (T4, "precision_lfb_train"): ("0.416", "333/800"),
    (T4, "recall_lfb_train"): ("0.4", "2/5"),
    (T6, "precision:label=A"): ("1", "1"),
    (T6, "precision:label=B"): ("0", "0"),
    (T6, "precision:label=C"): ("0", "0"),
    (T6, "recall:label=A"): ("0.5", "1/2"),
}
"""Printed values of Van Asch that are right, with the exact values."""


def confirmed() -> int:
    """How many printed values are the exact ones, rounded; raises AssertionError if one is not."""
    for (table, metric), (printed, fraction) in SOUND.items():
        off = abs(Figure(table, metric, fraction).exact() - Fraction(printed))
        assert off <= Fraction(1, 2 * 10 ** len(printed.partition(".")[2])), (table, metric)
    return len(SOUND)
