"""The bias-corrected percentile interval of one value, from its values in bootstrap draws.

Source: Efron 1981, Nonparametric standard errors and confidence intervals, section 7; Efron & Tibshirani 1993, An
introduction to the bootstrap, sections 13.3 and 14.3. Draws that equal the value count half, so that the interval of
the negated values is the negated interval. No value is interpolated: both ends are values of draws, unless shifted.
"""

import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

NO_WIDTH_NOTE = "All resamples that count have the same value: an interval without width is not certainty."
MIN_DRAWS = 100
"""With fewer usable draws there is no interval."""
SHIFTED_FROM = 0.25
"""From this bias on, in standard errors, the interval is shifted; above one standard error there is none."""
_TAIL = Fraction(1, 40)
_NORMAL = NormalDist()
_INDEX_TOLERANCE = 1e-9  # an index that is whole but for rounding is whole
_NO_SPREAD = 1e-12
_ROUNDING = (
    1e-12  # draws this close to the value are equal to it: sums of classes in another order differ in the last digit
)


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95 % interval: its ends, or None with the `reason`.

    `draws` is the number of draws used, `left_out` that of draws in which the metric was null. `bias` is the mean of
    the draws minus the value. `notes` are whole sentences.
    """

    low: float | None
    high: float | None
    method: str
    draws: int = 0
    left_out: int = 0
    bias: float | None = None
    standard_error: float | None = None
    notes: tuple[str, ...] = ()
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The same for JSON."""
        return asdict(self) | {"notes": list(self.notes)}


def no_interval(reason: str, *, method: str = "none", **more: Any) -> Interval:
    """No interval, with the reason in one sentence."""
    return Interval(None, None, method, reason=reason, **more)


def percentile_interval(
    value: float, draws: NDArray[np.float64], value_range: tuple[float, float] = (-math.inf, math.inf)
) -> Interval:
    """The 95 % interval of `value` by its values in draws (R,), NaN where the metric is null in a draw."""
    usable = np.sort(draws[~np.isnan(draws)])
    count, left_out = len(usable), len(draws) - len(usable)
    facts: dict[str, Any] = {"draws": count, "left_out": left_out}
    if math.isnan(value):
        return no_interval("The value is null.", **facts)
    if count < MIN_DRAWS:
        return no_interval(f"Only {count} of {len(draws)} resamples have a value; {MIN_DRAWS} are needed.", **facts)
    if count < left_out:
        return no_interval(f"The metric is null in {left_out} of {len(draws)} resamples.", **facts)
    bias = math.fsum(usable) / count - value
    centre = value + bias
    spread = math.sqrt(math.fsum((one - centre) ** 2 for one in usable.tolist()) / (count - 1))
    facts |= {"bias": bias, "standard_error": spread}
    notes: tuple[str, ...] = ()
    if left_out:
        notes = (f"The metric is null in {left_out} of {len(draws)} resamples, which do not count.",)
    if abs(bias) <= max(SHIFTED_FROM * spread, _NO_SPREAD):
        low, high = _bias_corrected(value, usable, min(_ROUNDING * max(1.0, abs(value)), spread * 1e-6))
        if low == high:
            notes += (NO_WIDTH_NOTE,)
        return Interval(low, high, "bias-corrected percentile bootstrap", **facts, notes=notes)
    if abs(bias) > spread:
        detail = f"Resampling moves the value by {bias:.3g}, more than its standard error of {spread:.3g}."
        return no_interval(detail, **facts, notes=notes)
    low, high = (_clipped(end - 2 * bias, value_range) for end in _percentiles(usable, _TAIL, _TAIL))
    notes += (f"Resampling moves the value by {bias:.3g}; the interval is shifted by twice that.",)
    return Interval(low, high, "shifted percentile bootstrap", **facts, notes=notes)


def _bias_corrected(value: float, ordered: NDArray[np.float64], rounding: float) -> tuple[float, float]:
    below = int(np.searchsorted(ordered, value - rounding, side="left"))
    equal = int(np.searchsorted(ordered, value + rounding, side="right")) - below
    half_counts = min(max(2 * below + equal, 1), 2 * len(ordered) - 1)  # never 0 or all: the normal quantile is finite
    twice = 2 * _NORMAL.inv_cdf(half_counts / (2 * len(ordered)))
    quantile = _NORMAL.inv_cdf(float(_TAIL))
    return _percentiles(ordered, _NORMAL.cdf(twice + quantile), _NORMAL.cdf(quantile - twice))


def _percentiles(ordered: NDArray[np.float64], below: float | Fraction, above: float | Fraction) -> tuple[float, float]:
    """The values that leave these shares of the draws below and above: the floor((R + 1) · share)-th from either end."""
    count = len(ordered)
    low, high = (
        min(max(math.floor((count + 1) * share + _INDEX_TOLERANCE), 1), count) for share in (float(below), float(above))
    )
    return float(ordered[low - 1]), float(ordered[count - high])


def _clipped(end: float, value_range: tuple[float, float]) -> float:
    return min(max(end, value_range[0]), value_range[1])
