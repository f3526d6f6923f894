"""Populations of gold and predicted labels with known probabilities, and samples of them."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from app.scoring.declaration.metric import MetricCall
from app.scoring.declaration.task import TaskSpec
from app.scoring.evaluate import evaluate
from app.scoring.evaluation_input import EvaluationInput, Labels

Balance = Literal["equal", "zipf"]
Floats = NDArray[np.float64]
_WEIGHT_UNITS = 10**12


def class_shares(classes: int, balance: Balance) -> Floats:
    """The share of each class: all equal, or falling with the rank of the class (Zipf)."""
    shares = np.ones(classes) if balance == "equal" else 1 / np.arange(1, classes + 1)
    return np.asarray(shares / shares.sum())


@dataclass(frozen=True, slots=True)
class Population:
    """The probability of each pair of gold and predicted class, as a square table."""

    probabilities: Floats

    @classmethod
    def of(cls, classes: int, balance: Balance, accuracy: float) -> "Population":
        """Each class is found with this probability; a wrong answer is another class, in proportion to its share."""
        shares = class_shares(classes, balance)
        wrong = np.broadcast_to(shares, (classes, classes)).copy()
        np.fill_diagonal(wrong, 0)
        wrong *= (1 - accuracy) / wrong.sum(axis=1, keepdims=True)
        np.fill_diagonal(wrong, accuracy)
        return cls(shares[:, None] * wrong)

    @property
    def spec(self) -> TaskSpec:
        """The task: its classes are declared."""
        return TaskSpec("multiclass", tuple(f"c{at:03}" for at in range(len(self.probabilities))))

    def true_value(self, call: MetricCall) -> float:
        """The value on the population itself."""
        m = len(self.probabilities)
        gold, predicted = np.divmod(np.arange(m * m, dtype=np.int32), np.int32(m))
        weights = np.round(self.probabilities.ravel() * _WEIGHT_UNITS).astype(np.int64)
        case = EvaluationInput(self.spec, Labels(gold), Labels(predicted), weights=weights)
        value = evaluate(case, [call])[call.text].value
        assert value is not None
        return value

    def sample(self, random: np.random.Generator, n: int) -> EvaluationInput:
        """N instances."""
        m = len(self.probabilities)
        cells = np.repeat(np.arange(m * m, dtype=np.int32), random.multinomial(n, self.probabilities.ravel()))
        gold, predicted = np.divmod(cells, np.int32(m))
        return EvaluationInput(self.spec, Labels(gold), Labels(predicted))
