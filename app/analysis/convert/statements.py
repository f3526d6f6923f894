"""Problems as people state them: names of classes and measures, sizes and figures as texts."""

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
    """How figures are printed: as percentages, to how many decimals though zeros may be left out, rounded or cut."""

    percent: bool = False
    decimals: int | None = None
    cut: bool = False

    def read(self, key: str, text: str) -> PrintedFigure:
        """The figure of a measure; raises InvalidContent where it cannot be one."""
        if key in COUNT_MEASURES or key == "correct":
            return parse_count(text)
        found = parse_figure(text, percent=self.percent, decimals=self.decimals, cut=self.cut)
        if found.low > 1 or found.high < -1:
            remedy = "Write percentages with their sign (78.3%), or give --percent."
            raise InvalidContent(f"{key} {text} lies outside the range of the measure.", remedy=remedy)
        return found


@dataclass(frozen=True, slots=True)
class PublishedFigures:
    """What is stated of one system: a row of figures per class, figures of the whole task, and the sizes.

    Without `rows` the figures are those of the positive class of two and of both together.
    """

    rows: Sequence[Mapping[str, str]] = ()
    whole: Mapping[str, str] = field(default_factory=dict)
    n: int | None = None
    positives: int | None = None
    exclusive: bool = True


def parse_problem(stated: PublishedFigures, printing: FigureFormat) -> tuple[CountsProblem, tuple[str, ...]]:
    """The problem, and the names of its classes; raises InvalidContent with what is wrong and how to mend it."""
    labels = tuple(row.get(LABEL_COLUMN, "").strip() for row in stated.rows)
    if len(set(labels)) < len(labels) or len(labels) > MAX_CLASSES:
        _refuse("Every class needs one row, with a name of its own.", f"At most {MAX_CLASSES} classes are read.")
    if not labels and not stated.exclusive:
        _refuse("--multilabel is about several classes.", "Give their figures with --table.")
    sizes = _parse_sizes(stated, labels)
    n = _instance_count(stated, sizes, labels)
    if len(labels) < 2 and stated.exclusive:
        labels = (*(labels or ("positive",)), REST_LABEL if REST_LABEL not in labels else "others")
        sizes = None if sizes is None else (sizes[0], n - sizes[0])
    if sizes is not None and (min(sizes) < 0 or max(sizes) > n):
        _refuse(f"A class cannot have more than all {n} instances, nor less than none.", "Correct its size, or --n.")
    claims = tuple(_parse_claims(stated, printing))
    if not claims:
        _refuse("No figure is given.", "Give at least one, for example --precision 0.81.")
    return CountsProblem(n, sizes, claims, stated.exclusive), labels


def _parse_claims(stated: PublishedFigures, printing: FigureFormat) -> Iterator[FigureClaim]:
    """The figures of the classes, then those of the whole task; where there are two classes, of the first one too."""
    for row, given in enumerate(stated.rows):
        for key, text in _figure_texts(given, ONE_CLASS_MEASURES):
            yield FigureClaim(key, printing.read(key, text), row)
    many = len(stated.rows) > 1 or not stated.exclusive
    for key, text in _figure_texts(
        stated.whole, WHOLE_TASK_MEASURES if many else (*WHOLE_TASK_MEASURES, *ONE_CLASS_MEASURES)
    ):
        if key in SINGLE_LABEL_MEASURES and not stated.exclusive:
            _refuse(f"'{key}' is for tasks with one label per instance.", "Leave it away, or leave --multilabel away.")
        yield FigureClaim(key, printing.read(key, text), None if key in WHOLE_TASK_MEASURES else 0)


def _parse_sizes(stated: PublishedFigures, labels: Sequence[str]) -> tuple[int, ...] | None:
    """The sizes of the classes; None where none is given."""
    given = [_by_canonical_name(row).get(SIZE_COLUMN, "").strip() for row in stated.rows]
    if not any(given):
        if stated.positives is not None and not labels:
            return (stated.positives,)
        if len(labels) > 2 or (labels and not stated.exclusive):
            _refuse(
                "The sizes of the classes are not given.",
                f"Add a column '{SIZE_COLUMN}': how often each occurs in gold.",
            )
        return None
    return tuple(_parse_size(text, f"size of '{label}'") for text, label in zip(given, labels, strict=True))


def _instance_count(stated: PublishedFigures, sizes: tuple[int, ...] | None, labels: Sequence[str]) -> int:
    """How many instances there are: as is said, or as the sizes of exclusive classes sum to."""
    total = None if sizes is None or len(labels) < 2 or not stated.exclusive else sum(sizes)
    n = total if stated.n is None else stated.n
    if n is None:
        _refuse("The number of instances is not given.", "Give it with --n.")
    if total not in {None, n}:
        _refuse(
            f"The sizes of the classes sum to {total}, but there are {n} instances.",
            "List all classes; where an instance may have several labels, give --multilabel.",
        )
    if not 1 <= n <= MAX_INSTANCES:
        _refuse(f"There cannot be {n} instances here.", f"Give a number from 1 to {MAX_INSTANCES}.")
    return n


def _parse_size(text: str, what: str) -> int:
    try:
        return int(parse_count(text).low)
    except InvalidContent:
        _refuse(f"The {what} is '{text}', which is no count.", "Sizes are whole numbers, 0 or more.")


def _by_canonical_name(given: Mapping[str, str]) -> dict[str, str]:
    """The same texts under the names of the catalogue; raises InvalidContent where one is given under two names."""
    found: dict[str, str] = {}
    for name, text in given.items():
        key = name.strip().lower().replace("-", "_").replace(" ", "_")
        key = MEASURE_ALIASES.get(key, key)
        if key in found:
            _refuse(f"'{key}' is given twice.", "Give each figure once.")
        found[key] = text
    return found


def _figure_texts(given: Mapping[str, str], own: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The measures of a row with the texts of their figures; empty texts are left out."""
    for key, text in _by_canonical_name(given).items():
        if key in {LABEL_COLUMN, SIZE_COLUMN} or not text.strip():
            continue
        if key not in own:
            _refuse(f"There is no figure '{key}' here{_hint(key, own)}.", "docs/convert.md lists all that there are.")
        yield key, text


def _hint(key: str, own: Sequence[str]) -> str:
    """What may have been meant by a name that is none here."""
    if key in RATIO_MEASURES:
        return f"; of many classes say {key}_macro, {key}_micro or {key}_weighted"
    if key in WHOLE_TASK_MEASURES and own is ONE_CLASS_MEASURES:
        return "; it belongs to the whole task (a row without a label), or is it accuracy_ovr or recall of the class?"
    return did_you_mean(key, own)


def _refuse(detail: str, remedy: str) -> NoReturn:
    raise InvalidContent(detail, remedy=remedy)
