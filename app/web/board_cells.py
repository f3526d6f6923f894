"""The values of a board as a page shows them: aligned, with their intervals as text and as a small bar."""

from collections.abc import Mapping, Sequence
from statistics import quantiles
from typing import Any, NamedTuple

from markupsafe import Markup

from app.drawing.uncertainty import interval_bar
from app.web.formatting import DASH
from app.web.order_words import decimals_for, interval_text

FENCE = 1.5  # of the distance between the quartiles, as in box plots
SHOWN_DIGITS = 6  # significant ones; the other forms of the board have all


class Cell(NamedTuple):
    """A value of a metric with its interval; a null one may have a reason."""

    text: str
    reason: str | None = None
    interval: str = ""
    lacks_interval: bool = False
    bar: Markup | None = None

    @property
    def has_value(self) -> bool:
        """Whether there is a value."""
        return self.text != DASH


def metric_cells(scores: Sequence[dict[str, Any]], *, is_drawn: bool, competes: Sequence[bool]) -> list[Cell]:
    """The cells of a column; `is_drawn`: whether intervals are drawn as bars too, on one scale, that of the rows that compete."""
    cells = value_texts(scores)
    ends = [(score["low"], score["high"]) for score in scores if score.get("low") is not None]
    if not ends:
        return [cell._replace(lacks_interval=_lacks_interval(score)) for cell, score in zip(cells, scores, strict=True)]
    decimals = decimals_for(high - low for low, high in ends)
    ranked = [score for score, is_ranked in zip(scores, competes, strict=True) if is_ranked]
    least, most = _scale([(score["low"], score["high"]) for score in ranked if score.get("low") is not None] or ends)
    shown = []
    for cell, score in zip(cells, scores, strict=True):
        value, low, high = score.get("value"), score.get("low"), score.get("high")
        if value is None or low is None or high is None:
            shown.append(cell._replace(lacks_interval=_lacks_interval(score)))
            continue
        bar = interval_bar(value, low, high, least=least, most=most) if is_drawn else None
        shown.append(cell._replace(interval=interval_text(low, high, decimals), bar=bar))
    return shown


def _scale(ends: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The scale of the bars: all intervals but outlying ones, so that one bad system does not make all bars dots."""
    lows, highs = [low for low, _ in ends], [high for _, high in ends]
    if len(ends) < 4:  # too few for quartiles to say what is far off
        return min(lows), max(highs)
    lower, _, upper = quantiles(lows, method="inclusive")
    least = lower - FENCE * (upper - lower)
    lower, _, upper = quantiles(highs, method="inclusive")
    most = upper + FENCE * (upper - lower)
    inside = [(low, high) for low, high in ends if low >= least and high <= most] or ends
    return min(low for low, _ in inside), max(high for _, high in inside)


def _lacks_interval(score: dict[str, Any]) -> bool:
    """Whether the phase shows intervals, but this value has none: not yet, or none that could be trusted."""
    return score.get("value") is not None and "low" in score


def value_texts(scores: Sequence[Mapping[str, Any]]) -> list[Cell]:
    """The values of a column. Where all are between 0.0001 and 1, they get equally many decimals, so that they align."""
    values = [score.get("value") for score in scores]
    texts = ["" if value is None else f"{value:.{SHOWN_DIGITS}g}" for value in values]
    if all(value is None or value in {0, 1} or 1e-4 <= abs(value) < 1 for value in values):
        decimals = min(SHOWN_DIGITS, max((len(text.partition(".")[2]) for text in texts), default=0))
        texts = ["" if value is None else f"{value:.{decimals}f}" for value in values]
    return [Cell(text or DASH, score.get("reason")) for text, score in zip(texts, scores, strict=True)]
