"""Printed figures: the exact values that a decimal text may stand for."""

import re
from dataclasses import dataclass
from fractions import Fraction

from app.errors import InvalidContent

_DECIMAL = re.compile(r"([-+\u2212]?)(\d*)(?:[.,](\d*))?\s*(%?)", re.ASCII)
_FRACTION = re.compile(r"([-+\u2212]?)(\d+)\s*/\s*(\d+)", re.ASCII)
_COUNT = re.compile(r"\d{1,18}", re.ASCII)
_MAX_LENGTH = 40  # characters; longer than any printed score
_EXAMPLES = "Write a figure as it is printed: 0.78, 78.3%, 7/10."
_HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class PrintedFigure:
    """A printed figure, which stands for every exact value from `low` to `high`.

    `unit` is the value of one step of the last digit; 0 for an exact figure (a fraction, a count). `percent`: it was
    printed as a percentage. `cut`: its digits were cut off, so the end further from 0 (both ends, for a printed 0) does
    not belong to it.
    """

    text: str
    low: Fraction
    high: Fraction
    unit: Fraction
    percent: bool = False
    cut: bool = False

    @property
    def open_ends(self) -> tuple[bool, bool]:
        """Whether `low` and `high` themselves are excluded, because they are printed as another figure."""
        return self.cut and self.low < 0, self.cut and self.high > 0

    def closed(self, most: int) -> tuple[Fraction, Fraction]:
        """Closed bounds that contain the same values among those with a denominator of at most `most`."""
        open_low, open_high = self.open_ends
        low, high = (Fraction(1, end.denominator * (most + 1)) for end in (self.low, self.high))
        return self.low + open_low * low, self.high - open_high * high

    def holds(self, value: Fraction | None) -> bool:
        """Whether this exact value may be printed as the figure; an undefined value (None) may not."""
        return value is not None and not self.side(value)

    def side(self, value: Fraction) -> int:
        """Where an exact value lies: -1 below the values of the figure, 0 among them, 1 above."""
        open_low, open_high = self.open_ends
        if value < self.low or (open_low and value == self.low):
            return -1
        return int(value > self.high or (open_high and value == self.high))

    def printed(self, value: Fraction) -> str:
        """Another exact value in the format of this figure (rounded half up, or cut); a fraction where this one is exact."""
        if not self.unit:
            return str(value)
        steps = int(value / self.unit) if self.cut else (value / self.unit + _HALF).__floor__()
        places = len(str((1 / self.unit).numerator)) - (3 if self.percent else 1)
        digits = f"{abs(steps):0{places + 1}d}"
        body = f"{digits[:-places]}.{digits[-places:]}" if places else digits
        return ("-" if steps < 0 else "") + body + ("%" if self.percent else "")


def parse_figure(text: str, *, percent: bool = False, decimals: int | None = None, cut: bool = False) -> PrintedFigure:
    """The figure of a text: `0.78`, `78.3%`, `53,39` (a decimal comma), or exactly `7/10`.

    `percent`: figures without a percent sign are percentages too. `decimals`: the figure was rounded to this many
    decimals, even if trailing zeros are not printed. A value in the middle may have been rounded either way: half up,
    half to even, or by its binary64 representation. `cut`: its digits were cut off, not rounded. Raises InvalidContent.
    """
    text = text.strip()
    exact = _FRACTION.fullmatch(text) if len(text) <= _MAX_LENGTH else None
    if exact is not None:
        if not int(exact[3]):
            raise InvalidContent(f"The denominator of '{text}' is 0.", remedy=_EXAMPLES)
        value = _signed(exact[1], Fraction(int(exact[2]), int(exact[3])))
        return PrintedFigure(text, value, value, Fraction(0))
    match = _DECIMAL.fullmatch(text) if len(text) <= _MAX_LENGTH else None
    if match is None or not (match[2] or match[3]):
        raise InvalidContent(f"'{text[:_MAX_LENGTH]}' is not a figure.", remedy=_EXAMPLES)
    decimals_text, percent = match[3] or "", percent or bool(match[4])
    if decimals is not None and len(decimals_text) > decimals:
        raise InvalidContent(
            f"'{text}' has more than {decimals} decimals.", remedy="Correct the figure, or --decimals."
        )
    scale = 100 if percent else 1
    unit = Fraction(1, 10 ** max(len(decimals_text), decimals or 0) * scale)
    value = _signed(match[1], Fraction(int(match[2] + decimals_text), 10 ** len(decimals_text) * scale))
    if not cut:
        return PrintedFigure(text, value - unit / 2, value + unit / 2, unit, percent)
    # the digits were cut off towards 0; a printed 0 may have been cut from either side
    extends_down, extends_up = value <= 0, value >= 0
    return PrintedFigure(text, value - extends_down * unit, value + extends_up * unit, unit, percent, cut=True)


def parse_count(text: str) -> PrintedFigure:
    """A count, which is exact; raises InvalidContent where the text is not a count."""
    if _COUNT.fullmatch(text.strip()) is None:
        raise InvalidContent(f"'{text[:_MAX_LENGTH]}' is not a count.", remedy="A count is a whole number, 0 or more.")
    value = Fraction(int(text))
    return PrintedFigure(text.strip(), value, value, Fraction(0))


def _signed(sign: str, value: Fraction) -> Fraction:
    return -value if sign in {"-", "\u2212"} else value
