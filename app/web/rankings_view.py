"""Rankings of the same rows by several metrics as a page shows them, made from what the API says. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from app.analysis.order.rankings_text import LISTED_FLIPS, flip_count, rankings_sentence
from app.drawing.uncertainty import Slope, slopes
from app.web.formatting import DASH
from app.web.order_view import LISTED_ROWS, Drawing
from app.web.order_words import share_text, team_name

DRAWN_SLOPES = 20

Payload = Mapping[str, Any]


class RankedBy(NamedTuple):
    """A metric that ranks the rows."""

    key: str
    name: str
    in_recipe: bool


class TauCell(NamedTuple):
    """A cell of the matrix of rank correlations: its value and the number of rows."""

    text: str
    rows: int | None


class Flip(NamedTuple):
    """Two rows that two metrics put in opposite orders: the first metric has `a` before `b`."""

    a: str
    b: str
    first: str
    second: str
    significant: bool


class Steadiness(NamedTuple):
    """How a ranking holds under resampling."""

    metric: str
    tau: str
    ends: str
    same_first: str


@dataclass(frozen=True, slots=True)
class RankingsView:
    """The rankings of the same rows by several metrics."""

    sentence: str
    metrics: list[RankedBy]
    slopes: Drawing | None
    tau: list[list[TauCell]]
    flips: list[Flip]
    flip_count: int
    rows: list[tuple[str, list[str]]]
    stability: list[Steadiness]
    notes: list[str]
    draws: int | None
    n: int

    @property
    def tau_rows(self) -> int | None:
        """How many rows each correlation is over; None if they differ."""
        counts = {cell.rows for line in self.tau for cell in line}
        return next(iter(counts)) if len(counts) == 1 else None

    @property
    def total(self) -> int:
        """How many rows are ranked."""
        return self.n


def rankings_view(payload: Payload) -> RankingsView | None:
    """The view of rankings side by side; None where nothing is ranked yet."""
    result = payload["result"]
    if not result.get("rows") or not result.get("metrics"):
        return None
    names = {row["row"]: team_name(row) for row in payload["rows"]}
    metrics = _metrics(result["metrics"], payload["primary"])
    labels = {metric.key: metric.name for metric in metrics}
    rows = [row for row in result["rows"] if row["key"] in names]
    rows.sort(key=lambda row: (row["ranks"].get(metrics[0].key) is None, row["ranks"].get(metrics[0].key)))
    flips = [flip for flip in result["flips"] if flip["a"] in names and flip["b"] in names]
    return RankingsView(
        sentence=rankings_sentence(result) if payload["status"] == "current" else "",
        metrics=metrics,
        slopes=_draw(rows, metrics, names) if len(metrics) > 1 else None,
        tau=[[_tau_cell(result, one.key, other.key) for other in metrics] for one in metrics],
        flips=[
            Flip(names[flip["a"]], names[flip["b"]], *_labels_of(flip, labels), bool(flip["significant"]))
            for flip in sorted(flips, key=lambda flip: not flip["significant"])[:LISTED_FLIPS]
        ],
        flip_count=flip_count(result),
        rows=[(names[row["key"]], [_rank(row, metric.key) for metric in metrics]) for row in rows[:LISTED_ROWS]],
        stability=[_steadiness(metric.name, result["stability"].get(metric.key) or {}) for metric in metrics],
        notes=list(result.get("notes") or ()),
        draws=result.get("draws"),
        n=len(rows),
    )


def _metrics(metrics: Sequence[Payload], primary: str) -> list[RankedBy]:
    """The metrics, the primary one first. Those that share a name are called by their strings."""
    names = [str(metric["name"]) for metric in metrics]
    found = [
        RankedBy(
            metric["metric"],
            str(metric["name"]) if names.count(str(metric["name"])) == 1 else str(metric["metric"]),
            bool(metric["in_recipe"]),
        )
        for metric in metrics
    ]
    return sorted(found, key=lambda metric: metric.key != primary)


def _draw(rows: Sequence[Payload], metrics: Sequence[RankedBy], names: Mapping[int, str]) -> Drawing:
    drawn = rows[:DRAWN_SLOPES]
    lines = [Slope(names[row["key"]], [row["ranks"].get(metric.key) for metric in metrics]) for row in drawn]
    title = "Ranks under each metric"
    description = "A column for each metric, a line for each row; the number in a dot is the rank."
    drawing = slopes([metric.name for metric in metrics], lines, title=title, description=description)
    return Drawing(drawing, len(drawn), len(rows))


def _labels_of(flip: Payload, labels: Mapping[str, str]) -> tuple[str, str]:
    first, second = (labels.get(text, text) for text in flip["metrics"])
    return first, second


def _rank(row: Payload, key: str) -> str:
    rank = row["ranks"].get(key)
    return DASH if rank is None else str(rank)


def _tau_cell(result: Payload, one: str, other: str) -> TauCell:
    tau = result["tau"].get(one, {}).get(other)
    rows = (result.get("tau_rows") or {}).get(one, {}).get(other)
    if tau is None:
        return TauCell(DASH, rows)
    return TauCell(_signed(tau), rows)


def _signed(tau: float) -> str:
    return f"{tau:.2f}".replace("-", "\N{MINUS SIGN}")


def _steadiness(name: str, values: Payload) -> Steadiness:
    low, high = values.get("tau_low"), values.get("tau_high")
    ends = "" if low is None or high is None else f"{_signed(low)} to {_signed(high)}"
    mean = values.get("tau_mean")
    return Steadiness(name, DASH if mean is None else _signed(mean), ends, share_text(values.get("same_first")))
