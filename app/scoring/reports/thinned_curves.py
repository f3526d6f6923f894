"""Curves with fewer points and the same shape, for drawing."""

import heapq
from typing import Any

import numpy as np

from app.scoring.numeric.exact import Floats, Integers

INVISIBLE_DISTANCE = 1 / 4000
"""The distance from the curve, in its unit square, below which a point is left out even where there is room for it."""
_AXES = (("fpr", "tpr"), ("recall", "precision"))


def thin_curves(curves: dict[str, Any], most: int) -> dict[str, Any]:
    """The content of a part `roc_curve` or `pr_curve` with at most `most` (2 or more) points in each curve.

    `points` then counts those that are left, `points_in_all` those of the whole curve. Every point of the whole curve
    keeps its values; the first and the last point stay.
    """
    return {**curves, "curves": [_thin_curve(curve, most) for curve in curves["curves"]]}


def _thin_curve(curve: dict[str, Any], most: int) -> dict[str, Any]:
    across, up = next((curve[x], curve[y]) for x, y in _AXES if x in curve)
    kept = thin_polyline(np.asarray(across, dtype=np.float64), np.asarray(up, dtype=np.float64), most).tolist()
    thinned = {name: [value[at] for at in kept] if isinstance(value, list) else value for name, value in curve.items()}
    return thinned | {"points": len(kept), "points_in_all": len(across)}


def thin_polyline(across: Floats, up: Floats, most: int) -> Integers:
    """The positions, ascending, of at most `most` points (2 or more) that describe a polyline of n points best.

    Ramer 1972, Douglas & Peucker 1973: the point farthest from the line between its kept neighbours is kept next. Ends
    where all others are closer than INVISIBLE_DISTANCE.
    """
    last = len(across) - 1
    kept = {0, last}
    heap: list[tuple[float, int, int, int]] = []

    def add(start: int, end: int) -> None:
        if end - start > 1:
            distances = _distances(across[start : end + 1], up[start : end + 1])
            farthest = int(np.argmax(distances))
            heapq.heappush(heap, (-float(distances[farthest]), start, start + farthest, end))

    add(0, last)
    while heap and len(kept) < most:
        distance, start, middle, end = heapq.heappop(heap)
        if -distance < INVISIBLE_DISTANCE:
            break
        kept.add(middle)
        add(start, middle)
        add(middle, end)
    return np.asarray(sorted(kept), dtype=np.int64)


def _distances(across: Floats, up: Floats) -> Floats:
    """The distance of each point of a polyline from the straight piece between its ends; 0 for the ends themselves."""
    x, y = across - across[0], up - up[0]
    length_squared = x[-1] ** 2 + y[-1] ** 2
    along = np.zeros(len(x)) if length_squared == 0 else np.clip((x * x[-1] + y * y[-1]) / length_squared, 0, 1)
    distances: Floats = np.hypot(x - along * x[-1], y - along * y[-1])
    distances[[0, -1]] = 0
    return distances
