"""Curves for drawing: few points, the same shape."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from app.scoring.reports.thinned_curves import INVISIBLE_DISTANCE, thin_curves, thin_polyline


def staircase(seed: int, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """A ROC curve of random scores."""
    is_positive = np.random.default_rng(seed).random(steps) < np.linspace(0.9, 0.1, steps)
    tp, fp = np.append(0, np.cumsum(is_positive)), np.append(0, np.cumsum(~is_positive))
    return fp / max(1, fp[-1]), tp / max(1, tp[-1])


def distance_to(polyline: np.ndarray, points: np.ndarray) -> float:
    """The largest distance of any point from a polyline, by its definition."""
    start, end = polyline[:-1], polyline[1:]
    direction = end - start
    length = np.maximum((direction**2).sum(axis=1), 1e-300)
    along = np.clip(((points[:, None] - start) * direction).sum(axis=2) / length, 0, 1)
    nearest = start + along[:, :, None] * direction
    return float(np.sqrt(((points[:, None] - nearest) ** 2).sum(axis=2)).min(axis=1).max())


@given(st.integers(0, 1000), st.integers(1, 1500))
def test_a_thinned_curve_has_few_points_and_differs_by_less_than_a_pixel(seed: int, steps: int) -> None:
    across, up = staircase(seed, steps)
    kept = thin_polyline(across, up, 400)
    assert len(kept) <= 400
    assert (kept[0], kept[-1]) == (0, steps)
    assert (np.diff(kept) > 0).all()
    whole = np.stack([across, up], axis=1)
    allowed = INVISIBLE_DISTANCE if len(kept) < 400 else 1 / 300  # in a drawing of 300 pixels
    assert distance_to(whole[kept], whole) <= allowed


def test_only_two_points_may_be_asked_for() -> None:
    across, up = staircase(1, 100)
    assert thin_polyline(across, up, 2).tolist() == [0, 100]


def test_a_corner_is_kept_and_what_lies_on_straight_pieces_is_not() -> None:
    across, up = np.array([0, 0, 0, 0.5, 1.0]), np.array([0, 0.5, 1, 1, 1.0])
    assert thin_polyline(across, up, 300).tolist() == [0, 2, 4]


def test_the_points_that_are_left_keep_all_their_values() -> None:
    curve = {"label": "a", "points": 4, "threshold": [None, 0.9, 0.8, 0.7], "recall": [0, 0, 0, 1.0]}
    curve["precision"] = [1.0, 0.5, 0.0, 0.0]
    thinned = thin_curves({"curves": [curve]}, 300)["curves"][0]
    assert thinned == curve | {
        "points": 3,
        "points_in_all": 4,
        "threshold": [None, 0.8, 0.7],
        "recall": [0, 0, 1.0],
        "precision": [1.0, 0.0, 0.0],
    }
