"""How the interval of a metric is computed, or why it has none."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class IntervalMethod:
    """The method of the 95 % interval of a metric.

    `bootstrap`: resampling. `proportion`: the value is a share of the instances, with an exact binomial interval.
    `auc`: DeLong on the logit scale. `none`: no interval, for the `reason`, a sentence.
    """

    kind: Literal["bootstrap", "proportion", "auc", "none"]
    reason: str = ""


BOOTSTRAP = IntervalMethod("bootstrap")
PROPORTION = IntervalMethod("proportion")
AUC = IntervalMethod("auc")


def no_interval(reason: str) -> IntervalMethod:
    """No interval, for this reason."""
    return IntervalMethod("none", reason)
