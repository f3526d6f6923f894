"""Tables of results for tests."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from app.analysis.order.matrix import ResultMatrix


def table_of(rows: "Sequence[Sequence[float]] | NDArray[np.generic]") -> ResultMatrix:
    """A table with systems s0, s1 … and instances i000, i001 …."""
    values = np.array(rows, dtype=float)
    systems, ids = (f"s{at}" for at in range(len(values))), (f"i{at:03}" for at in range(values.shape[1]))
    return ResultMatrix(tuple(systems), tuple(ids), values)


def drawn(rates: Sequence[float], n: int, seed: int = 0) -> NDArray[np.float64]:
    """Right and wrong answers at these rates, over instances that are harder and easier."""
    generator = np.random.default_rng(seed)
    ease = generator.normal(0, 0.15, n)
    return (generator.random((len(rates), n)) < np.array(rates)[:, None] + ease).astype(float)
