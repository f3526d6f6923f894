"""Generates docs/errata.md: errors in the source documents of the catalogue, with recomputed values."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from errata_data import FIGURES, SEFIDIAN, T5, T6, TABLES, Figure, confirmed, reason

from app.scoring.declaration.metric import CATALOGUE
from app.scoring.reports.per_class_report import per_class_report

_INTRODUCTION = """# Errata

Errors in the source documents of the catalogue, with corrections. `docs/build.py` generates this page: it recomputes
every fraction in the column “correct” from the counts of the documents (`docs/errata_data.py`), and writes the page
only if the values agree. A scorer that reproduced the printed numbers would be wrong.

“As printed” denotes the value that a formula gives if it is followed literally.
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One error: its location, the printed text, the correction, and an explanation."""

    place: str
    printed: str
    right: str
    why: str


def page() -> str:
    """The whole page."""
    return "\n".join([_INTRODUCTION, *_sections()])


def _sections() -> Iterator[str]:
    chapters = {
        "Wenzel, Metrics for multi-class and multi-label classification": _wenzel(),
        "Van Asch, Macro- and micro-averaged evaluation measures (draft of 2013)": _van_asch(),
        "Döring, Performance measures for multi-class problems": _doering(),
        "Sefidian, Evaluation metrics for multi-label classification": _sefidian(),
        "Zhang & Zhou, A review on multi-label learning algorithms (2014)": _zhang_zhou(),
    }
    for title, rows in chapters.items():
        lines = ["| location | printed | correct | explanation |", "|---|---|---|---|"]
        lines += [f"| {row.place} | {row.printed} | {row.right} | {row.why} |" for row in rows]
        yield f"## {title}\n\n" + "\n".join(lines) + "\n"


def _is(name: str) -> str:
    """A figure as text."""
    return number(FIGURES[name].exact())


def number(value: Fraction) -> str:
    """A fraction with its decimal: 37/45 = 0.822222."""
    decimal = f"{float(value):.6f}".rstrip("0").rstrip(".")
    if value.denominator == 1:
        return decimal
    sign = "=" if Fraction(decimal) == value else "≈"
    return f"{value} {sign} {decimal}"


def _f(precision: Fraction, recall: Fraction) -> Fraction:
    return 2 * precision * recall / (precision + recall)


def _wenzel() -> Iterator[Row]:
    yield Row(
        "eq 16 and its example, Fig 8",
        "weights TP + FP; example 0.750",
        f"{_is('w weighted precision')}, with the weights TP + FN",
        f"the example is right, the equation is not: as printed it gives {_is('w micro precision')}, the micro precision",
    )
    yield Row("sec 3.2.3, Fig 6, accuracy", "7/10", _is("w accuracy 6"), "(22 + 52) / 90 is not 7/10")
    yield Row(
        "sec 3.2.3, remark on Fig 8",
        "the imbalanced matrix has the higher accuracy",
        f"the lower: {_is('w accuracy 8')} < {_is('w accuracy 6')}",
        "follows from the previous error",
    )
    printed = _f(Fraction(7, 10), FIGURES["w micro recall 6"].exact())
    yield Row(
        "sec 3.2.4, Fig 6, micro F1",
        "an expression with precision 7/10, given as 11/15",
        _is("w micro f 6"),
        f"the result is right; the expression is {number(printed)}, because the micro precision is 11/15 too",
    )
    yield Row(
        "sec 3.2.4, Fig 8, weighted F1",
        "0.709",
        f"{_is('w weighted f')}, so 0.708",
        f"the F1 of Mouse is used as 0.793; it is {_is('w mouse f')}",
    )
    yield from _wenzel_sets()


def _wenzel_sets() -> Iterator[Row]:
    terms = [Fraction(3, 3), Fraction(4, 5), Fraction(0), Fraction(2, 4), Fraction(1, 5)]
    printed = sum(terms, Fraction(0)) / 5
    yield Row(
        "sec 3.3.1, Fig 9, recall",
        "last term 1/(1 + 4); result 0.66",
        f"last term 1/(1 + 0); {_is('w recall 9')}",
        f"FP is used in place of FN; the terms as printed give {number(printed)}",
    )
    yield Row(
        "sec 3.3.2, Fig 9, precision",
        "the five terms of the recall; result 0.573",
        f"3/3, 4/4, 0/2, 2/3, 1/5; {_is('w precision 9')}",
        f"the terms were copied from the recall; they give {number(printed)}",
    )
    rest = Fraction(8, 9) + _f(Fraction(66, 100), Fraction(1, 2)) + Fraction(1, 3)
    yield Row(
        "sec 3.3.6, Fig 9, averaged F1",
        "a sum of which only the first term is divided by 5; 0.66 for 2/3; result 0.56",
        _is("w f 9"),
        f"as printed the sum is {float(Fraction(1, 5) + rest):.6f}",
    )
    yield Row(
        "sec 3.3.6, remark",
        "the averaged F1 may exceed the F1 of averages",
        f"it never does; on Fig 9 {_is('w f 9')} < {_is('w f of averages 9')}",
        "the harmonic mean is concave (Opitz & Burst)",
    )
    yield Row(
        "sec 3.3.6, remark",
        "the literature takes the mean of F over instances",
        "Zhang & Zhou define the F of averages",
        "one of the cited works does the opposite",
    )
    yield Row(
        "sec 3.1.4",
        "Hamming loss as another name of the error rate",
        f"only for single labels of two classes; on Fig 6 {_is('w hamming 6')} and {_is('w error 6')}",
        "a wrong answer among m classes gives two wrong cells of m: 2/m of the error rate",
    )
    yield Row(
        "sec 3.3, sec 4",
        "micro averages over instances differ from those over classes",
        f"they are the same; Fig 9: precision {_is('w micro precision 9')}, recall {_is('w micro recall 9')}, "
        f"F1 {_is('w micro f 9')}",
        "both sum the same cells",
    )
    yield Row(
        "sec 4, mAP",
        "includes the overlap of boxes",
        "the mean over classes of the average precision, no boxes",
        "the cited work tags whole images; it does not detect objects",
    )
    yield Row(
        "sec 2.3",
        "partially correct: a label shared; wrong: none shared; TN among all label sets",
        "correct is tested first, then partial, then wrong; TN is counted among the classes",
        "as printed, correct answers are partially correct too, two empty sets are both correct and wrong, and TN is taken from another set",
    )


def _factor(delta: int, tp: int, fp: int, share: Fraction) -> Fraction:
    """How much a label with this share changes the average precision by `delta` more false positives (eq 16)."""
    return -delta * tp * share / Fraction((tp + fp) * (tp + fp + delta))


def _van_asch() -> Iterator[Row]:
    yield Row(
        "eq 4",
        "β² before the false positives",
        f"β² before the false negatives; F2 of c1 in Table 3 {_is('v f2')}",
        f"contradicts eq 3 unless β = 1; as printed {number(Fraction(5 * 3, 5 * 3 + 4 * 2 + 7))}",
    )
    yield Row(
        "eq 10", "B(tp, fp, tp, fn)", "B(tp, fp, tn, fn)", "tp occurs twice; the order of eq 8 and eq 9 differs too"
    )
    counts = per_class_report(TABLES[T5])
    same = all(row["fp"] == row["fn"] for row in counts.values())
    assert same
    yield Row(
        "Table 5, caption; sec 3.4.3",
        "tp = fn for each label; “Table 4”",
        "fp = fn for each label: " + ", ".join(f"{label} {row['fp']:g}" for label, row in counts.items()) + "; Table 5",
        "as in the text and the counts",
    )
    yield Row(
        "Table 5, macro",
        "0.613",
        f"{_is('v macro precision 5')} (precision and recall)",
        "a tie: 0.613 if rounded half up, 0.612 half to even",
    )
    yield Row(
        "Table 6, recall of B and C",
        "0",
        reason(T6, "recall:label=B", {"zero_division": "skip"}).partition(",")[0],
        "a convention for 0/0 (`zero_division`), not a value",
    )
    yield Row(
        "Table 7, caption",
        "gold labels in the “column”",
        "gold labels name the rows; a cell shows the count for its column, then for its row",
        "ambiguous",
    )
    yield from _van_asch_moves()
    yield Row("Tables 2 to 4 and 6", "the other values", f"all {confirmed()} as printed", "recomputed and rounded")


def _van_asch_moves() -> Iterator[Row]:
    shares = {label: Fraction(share, 100) for label, share in zip(("c1", "c2", "c4"), (10, 20, 40), strict=True)}
    before = FIGURES["v lfb"].exact()
    one, two = (FIGURES[name].exact() - before for name in ("v lfb one move", "v lfb two moves"))
    receiver = _factor(1, 1, 7, shares["c2"])
    assert one == _factor(-1, 6, 9, shares["c4"]) + receiver
    yield Row(
        "eq 17",
        "the giving and the receiving label with the same δ",
        f"−δ for the giving one; in Table 3, one false c4 that becomes c2: {number(one)}",
        f"the sign convention of eq 16; as printed {number(_factor(1, 6, 9, shares['c4']) + receiver)}",
    )
    ends = _factor(2, 3, 2, shares["c1"])
    assert two == _factor(-1, 6, 9, shares["c4"]) + _factor(1 - 2, 1, 7, shares["c2"]) + ends
    printed = _factor(1, 6, 9, shares["c4"]) + _factor(1 + 2, 1, 7, shares["c2"]) + ends
    yield Row(
        "eq 18",
        "δ₁, δ₁ + δ₂, δ₂",
        f"−δ₁, δ₁ − δ₂, δ₂; in Table 3, one false c4 to c2 and two false c2 to c1: {number(two)}",
        f"as for eq 17; the middle label loses what it passes on; as printed {number(printed)}",
    )
    before = FIGURES["v micro"].exact()
    mended, added = (FIGURES[name].exact() - before for name in ("v micro mended", "v micro added"))
    yield Row(
        "eq 25",
        "δ·tp / ((tp + fp)(tp + fp + δ))",
        f"δ·fp / (…) if labels are added, in Table 3 with δ = 2 {number(added)}; δ/N if answers are corrected, "
        f"{number(mended)}",
        f"recounted; as printed {number(Fraction(2 * 16, 40 * 42))}",
    )
    yield Row(
        "sec 6.1.2",
        "tp + fn is the count in the training data; instances move between TP and FP",
        "it is the count in the test data; instances move between TP and FN",
        "symbols of another section",
    )
    assert Fraction(2 * 8, 100 + 8 - 88) == FIGURES["v fold"].exact()
    yield Row(
        "eq 29",
        "tp_N in the divisor",
        f"tp_B; of 100 with 8 and 88 right, 2 and 2 wrong: F1 {_is('v fold')}",
        "N is not defined",
    )
    recalls = Fraction(4, 5), Fraction(977, 1000)
    assert _eq31(*recalls, Fraction(9)) == FIGURES["v proportion"].exact()
    yield Row(
        "eq 31",
        "p is the proportion of A",
        f"p = n_B / n_A; with recalls 0.8 and 0.977 and one A in ten, p = 9: {_is('v proportion')}",
        f"the list of definitions is right; with p = 1/10 it would be {float(_eq31(*recalls, Fraction(1, 10))):.6f}",
    )


def _eq31(a: Fraction, b: Fraction, p: Fraction) -> Fraction:
    """Macro F1 of two classes by their recalls and the ratio of their sizes."""
    return a / (1 + a + (1 - b) * p) + b * p / (1 - a + (1 + b) * p)


def _doering() -> Iterator[Row]:
    accuracy = FIGURES["d micro f"].exact()
    yield Row(
        "micro F1",
        "0.88",
        _is("d micro f"),
        f"a misspelt field sets every FN to 0, so recall is 1: {number(_f(accuracy, Fraction(1)))}; the correct value "
        "equals the accuracy",
    )
    yield Row(
        "macro F1",
        "0.68",
        f"{_is('d f of averages')} as F1 of averages; {_is('d macro f')} as mean of F1 (scikit-learn)",
        "right, but two measures have this name",
    )
    yield Row(
        "weighted accuracy, formula",
        "a sum of weights over correct answers",
        f"each class divided by its size; {_is('d weighted accuracy')}, so 0.69 is right",
        f"as printed it is {number(accuracy * 100 / 5)}; the weight needs the index of the class, which the code ignores",
    )
    yield Row(
        "mean area “under the precision-recall curve”",
        "0.97",
        "cannot be recomputed",
        "the call asks for the area under the ROC curve; the split has no seed",
    )
    yield Row(
        "on Hand & Till",
        "no public implementation",
        "pROC from 1.13 on, HandTill2001, scikit-learn (`ovo`)",
        "outdated",
    )
    yield Row(
        "code for Hand & Till", "ranks in the order of sorting", "mean ranks of ties", "the order of rows decides ties"
    )
    pairs = Fraction("0.9627329")
    yield Row("area of Hand & Till", "0.988", number((1 + 1 + pairs) / 3), "right: the mean of the printed pairs")


def _sefidian() -> Iterator[Row]:
    yield Row(
        "“Precision”, “Recall”: formulas and functions",
        "precision divided by gold, recall by predictions",
        "the reverse",
        "swapped; also listed among label-based measures, although they are example-based",
    )
    yield Row(
        "printed output",
        "Recall 0.375, Precision 0.5",
        f"precision {_is('s precision')}, recall {_is('s recall')}",
        f"each line calls the other function; exact match {_is('s exact match')}, Hamming loss {_is('s hamming')} and "
        f"F1 {_is('s f')} are right",
    )
    pooled, mean = alpha()
    yield Row(
        "α-evaluation, code",
        "one ratio of counts over all instances, with a small constant",
        f"the mean over instances: {number(mean)}",
        f"Boutell et al. average over instances; the pooled ratio (α = 1, β = 0.25, γ = 1, no constant) is {number(pooled)}",
    )
    yield Row(
        "empty sets",
        "loops leave 0/0 out, numpy divides",
        "one rule, here an option (`both_empty`, `one_empty`)",
        "inconsistent",
    )


def alpha() -> tuple[Fraction, Fraction]:
    """The α-evaluation of Sefidian's example with α = 1, β = 0.25, γ = 1: pooled, and as a mean over instances."""
    of = TABLES[SEFIDIAN]
    gold, predicted = of.gold, of.predicted
    assert gold.offsets is not None
    assert predicted.offsets is not None
    costs = []
    for at in range(gold.n):
        own = set(gold.codes[gold.offsets[at] : gold.offsets[at + 1]].tolist())
        said = set(predicted.codes[predicted.offsets[at] : predicted.offsets[at + 1]].tolist())
        costs.append((Fraction(len(own - said), 4) + len(said - own), len(own | said)))
    pooled = 1 - sum((cost for cost, _ in costs), Fraction(0)) / sum(size for _, size in costs)
    mean = sum((1 - cost / size for cost, size in costs), Fraction(0)) / len(costs)
    if "alpha_score" in CATALOGUE:
        call = "alpha_score:alpha=1,beta=0.25,gamma=1"
        assert Figure(SEFIDIAN, call, str(mean)).exact() == mean
        assert Figure(SEFIDIAN, f"{call},pooled=true", str(pooled)).exact() == pooled
    return pooled, mean


def _zhang_zhou() -> Iterator[Row]:
    yield Row("the text as extracted", "no signs between sets", "∩, ∪, △ as in the article", "lost in the extraction")
