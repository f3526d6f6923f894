"""Parses problems stated as text: names of classes and measures, sizes and figures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from app.analysis.convert.claims import CountsProblem, FigureClaim
from app.analysis.convert.constraints import SINGLE_LABEL_MEASURES, WHOLE_TASK_MEASURES
from app.analysis.convert.measures import COUNT_MEASURES, ONE_CLASS_MEASURES, RATIO_MEASURES
from app.analysis.convert.printed_figures import PrintedFigure, parse_count, parse_figure
from app.errors import InvalidContent
from app.text.close_matches import did_you_mean

LABEL_COLUMN, SIZE_COLUMN = "label", "size"
MAX_INSTANCES, MAX_CLASSES = 10**15, 1_000
MEASURE_ALIASES = {
    "sensitivity": "recall",
    "tpr": "recall",
    "ppv": "precision",
    "tnr": "specificity",
    "f": "f1",
    "kappa": "cohen_kappa",
    "support": SIZE_COLUMN,
    "hamming_loss": "error_rate_ovr_micro",
}
"""Other names of measures and columns."""
REST_LABEL = "rest"


@dataclass(frozen=True, slots=True)
class FigureFormat:
    """The format of figures: percentages, number of decimals (trailing zeros may be missing), rounded or cut."""

    percent: bool = False
    decimals: int | None = None
    cut: bool = False

    def read(self, key: str, text: str) -> PrintedFigure:
        """The figure of a measure; raises InvalidContent where the text cannot be one."""
        if key in COUNT_MEASURES or key == "correct":
            return parse_count(text)
        figure = parse_figure(text, percent=self.percent, decimals=self.decimals, cut=self.cut)
        if figure.low > 1 or figure.high < -1:
            remedy = "Write percentages with their sign (78.3%), or give --percent."
            raise InvalidContent(f"{key} {text} is outside the range of the measure.", remedy=remedy)
        return figure


@dataclass(frozen=True, slots=True)
class PublishedFigures:
    """The statements about one system: a row of figures per class, figures of the whole task, and the sizes.

    Without `rows` there are two classes, and the figures are of the positive class and of both together.
    """

    rows: Sequence[Mapping[str, str]] = ()
    whole: Mapping[str, str] = field(default_factory=dict)
    n: int | None = None
    positives: int | None = None
    exclusive: bool = True


def parse_problem(published: PublishedFigures, figure_format: FigureFormat) -> tuple[CountsProblem, tuple[str, ...]]:
    """The problem, and the names of its classes; raises InvalidContent with the error and its remedy."""
    labels = tuple(row.get(LABEL_COLUMN, "").strip() for row in published.rows)
    if len(set(labels)) < len(labels) or len(labels) > MAX_CLASSES:
        _refuse("Every class needs exactly one row, with a unique name.", f"At most {MAX_CLASSES} classes are allowed.")
    if not labels and not published.exclusive:
        _refuse("--multilabel needs several classes.", "Give their figures with --table.")
    sizes = _parse_sizes(published, labels)
    n = _instance_count(published, sizes, labels)
    if len(labels) < 2 and published.exclusive:
        labels = (*(labels or ("positive",)), REST_LABEL if REST_LABEL not in labels else "others")
        sizes = None if sizes is None else (sizes[0], n - sizes[0])
    if sizes is not None and (min(sizes) < 0 or max(sizes) > n):
        _refuse(f"A class size must be between 0 and the number of instances, {n}.", "Correct its size, or --n.")
    claims = tuple(_parse_claims(published, figure_format))
    if not claims:
        _refuse("No figure is given.", "Give at least one, for example --precision 0.81.")
    return CountsProblem(n, sizes, claims, published.exclusive), labels


def _parse_claims(published: PublishedFigures, figure_format: FigureFormat) -> Iterator[FigureClaim]:
    """The claims of the classes, then of the whole task, which with two classes may include the first class."""
    for row, row_texts in enumerate(published.rows):
        for key, text in _figure_texts(row_texts, ONE_CLASS_MEASURES):
            yield FigureClaim(key, figure_format.read(key, text), row)
    many = len(published.rows) > 1 or not published.exclusive
    accepted = WHOLE_TASK_MEASURES if many else (*WHOLE_TASK_MEASURES, *ONE_CLASS_MEASURES)
    for key, text in _figure_texts(published.whole, accepted):
        if key in SINGLE_LABEL_MEASURES and not published.exclusive:
            _refuse(f"'{key}' is for tasks with one label per instance.", "Omit it, or omit --multilabel.")
        yield FigureClaim(key, figure_format.read(key, text), None if key in WHOLE_TASK_MEASURES else 0)


def _parse_sizes(published: PublishedFigures, labels: Sequence[str]) -> tuple[int, ...] | None:
    """The sizes of the classes; None where none is given."""
    texts = [_by_canonical_name(row).get(SIZE_COLUMN, "").strip() for row in published.rows]
    if not any(texts):
        if published.positives is not None and not labels:
            return (published.positives,)
        if len(labels) > 2 or (labels and not published.exclusive):
            _refuse(
                "The sizes of the classes are not given.",
                f"Add a column '{SIZE_COLUMN}': how often each occurs in gold.",
            )
        return None
    return tuple(_parse_size(text, f"size of '{label}'") for text, label in zip(texts, labels, strict=True))


def _instance_count(published: PublishedFigures, sizes: tuple[int, ...] | None, labels: Sequence[str]) -> int:
    """The number of instances: as stated, or the sum of the sizes of exclusive classes."""
    total = None if sizes is None or len(labels) < 2 or not published.exclusive else sum(sizes)
    n = total if published.n is None else published.n
    if n is None:
        _refuse("The number of instances is not given.", "Give it with --n.")
    if total not in {None, n}:
        _refuse(
            f"The sizes of the classes sum to {total}, but there are {n} instances.",
            "List all classes; where an instance may have several labels, give --multilabel.",
        )
    if not 1 <= n <= MAX_INSTANCES:
        _refuse(f"{n} is not a valid number of instances.", f"Give a number from 1 to {MAX_INSTANCES}.")
    return n


def _parse_size(text: str, what: str) -> int:
    try:
        return int(parse_count(text).low)
    except InvalidContent:
        _refuse(f"The {what} is '{text}', which is not a count.", "Sizes are whole numbers, 0 or more.")


def _by_canonical_name(texts: Mapping[str, str]) -> dict[str, str]:
    """The texts by catalogue name; raises InvalidContent where one measure is given under two names."""
    texts_by_key: dict[str, str] = {}
    for name, text in texts.items():
        key = name.strip().lower().replace("-", "_").replace(" ", "_")
        key = MEASURE_ALIASES.get(key, key)
        if key in texts_by_key:
            _refuse(f"'{key}' is given twice.", "Give each figure once.")
        texts_by_key[key] = text
    return texts_by_key


def _figure_texts(texts: Mapping[str, str], accepted: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The measures of a row with the texts of their figures; empty texts are left out."""
    for key, text in _by_canonical_name(texts).items():
        if key in {LABEL_COLUMN, SIZE_COLUMN} or not text.strip():
            continue
        if key not in accepted:
            _refuse(f"Unknown figure '{key}' here{_hint(key, accepted)}.", "docs/convert.md lists all measures.")
        yield key, text


def _hint(key: str, accepted: Sequence[str]) -> str:
    """A suggestion for a name that is not accepted here."""
    if key in RATIO_MEASURES:
        return f"; for several classes use {key}_macro, {key}_micro or {key}_weighted"
    if key in WHOLE_TASK_MEASURES and accepted is ONE_CLASS_MEASURES:
        return "; it belongs to the whole task (a row without a label), or is it accuracy_ovr or recall of the class?"
    return did_you_mean(key, accepted)


def _refuse(detail: str, remedy: str) -> NoReturn:
    raise InvalidContent(detail, remedy=remedy)
