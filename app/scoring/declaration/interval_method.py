"""How the confidence interval of a metric is computed: each metric declares one method."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class IntervalMethod:
    """The method of the interval of a metric; `reason` says in one sentence why a metric has no interval.

    - `bootstrap`: from the values of resamples.
    - `proportion`: exact binomial. The value is a number of instances divided by the number of all instances, unless
      ties count in part: then the bootstrap applies.
    - `auc`: DeLong's variance on the logit scale. The value is the probability that a score of a positive instance
      exceeds one of a negative instance, with ties as half; with other rules for ties the bootstrap applies.
    - `none`: the values of resamples do not tell how far the value may be from that of the population.

    `proportion` and `auc` hold for instances without weights and groups; with them the bootstrap applies.
    """

    kind: Literal["bootstrap", "proportion", "auc", "none"]
    reason: str = ""

    @property
    def sentence(self) -> str:
        """How the interval is computed, for people."""
        return self.reason or _SENTENCES[self.kind]


_SENTENCES = {
    "bootstrap": "Bias-corrected percentile bootstrap.",
    "proportion": "Exact binomial (Clopper-Pearson); with instance weights or groups, the bootstrap.",
    "auc": "DeLong on the logit scale, with 30 positives and negatives or more; with instance weights or groups, the "
    "bootstrap.",
}
BOOTSTRAP = IntervalMethod("bootstrap")
PROPORTION = IntervalMethod("proportion")
AUC = IntervalMethod("auc")


def no_interval(reason: str) -> IntervalMethod:
    """No interval, with the reason in one sentence."""
    return IntervalMethod("none", reason)


NO_INTERVAL_OF_TEST = no_interval("It is the result of a test, which has no interval of its own.")
NO_INTERVAL_OF_BOUND = no_interval("It is the end of an interval already.")
NO_INTERVAL_OF_VARIANCE = no_interval("It is itself a measure of uncertainty, that of the AUC.")
NO_INTERVAL_OF_BINS = no_interval(
    "Resamples raise it: chance differences within bins add to it, so an interval from resamples would be too high."
)
NO_INTERVAL_OF_ASSOCIATION = no_interval(
    "Resamples raise it: chance differences between groups add to it, so an interval from resamples would be too high."
)
