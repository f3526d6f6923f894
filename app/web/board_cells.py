"""The values of a board as a page shows them: aligned, with their intervals as text and as a small bar."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from app.drawing.uncertainty import interval_bar
from app.web.formatting import DASH
from app.web.order_words import decimals_for, interval_text

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


def metric_cells(scores: Sequence[dict[str, Any]], *, is_drawn: bool) -> list[Cell]:
    """The cells of a column; `is_drawn`: whether intervals are drawn as bars too, on one scale."""
    cells = value_texts(scores)
    ends = [(score["low"], score["high"]) for score in scores if score.get("low") is not None]
    if not ends:
        return [cell._replace(lacks_interval=_lacks_interval(score)) for cell, score in zip(cells, scores, strict=True)]
    decimals = decimals_for(high - low for low, high in ends)
    values = [score["value"] for score in scores if score.get("value") is not None]
    least, most = min(*values, *(low for low, _ in ends)), max(*values, *(high for _, high in ends))
    shown = []
    for cell, score in zip(cells, scores, strict=True):
        value, low, high = score.get("value"), score.get("low"), score.get("high")
        if value is None or low is None or high is None:
            shown.append(cell._replace(lacks_interval=_lacks_interval(score)))
            continue
        bar = interval_bar(value, low, high, least=least, most=most) if is_drawn else None
        shown.append(cell._replace(interval=interval_text(low, high, decimals), bar=bar))
    return shown


def _lacks_interval(score: dict[str, Any]) -> bool:
    """Whether the phase shows intervals, but this value has none: not yet, or none that could be trusted."""
    return score.get("value") is not None and "low" in score


def value_texts(scores: Sequence[dict[str, Any]]) -> list[Cell]:
    """The values of a column. Where all are between 0.0001 and 1, they get equally many decimals, so that they align."""
    values = [score.get("value") for score in scores]
    texts = ["" if value is None else f"{value:.{SHOWN_DIGITS}g}" for value in values]
    if all(value is None or value in {0, 1} or 1e-4 <= abs(value) < 1 for value in values):
        decimals = min(SHOWN_DIGITS, max((len(text.partition(".")[2]) for text in texts), default=0))
        texts = ["" if value is None else f"{value:.{decimals}f}" for value in values]
    return [Cell(text or DASH, score.get("reason")) for text, score in zip(texts, scores, strict=True)]
