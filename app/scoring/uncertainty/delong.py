"""The 95 % interval of one AUC from DeLong's variance, on the logit scale."""

import math
from fractions import Fraction

from app.scoring.curves import ThresholdCounts, delong_variance
from app.scoring.score_ranks import ScoreRanks, doubled_wins
from app.scoring.uncertainty.bootstrap_interval import Interval, no_interval

MIN_OF_EACH = 30
"""With fewer positives or negatives the normal approximation does not hold."""
NORMAL_QUANTILE = 1.959963984540054
"""The 97.5 % quantile of the normal distribution."""
METHOD = "DeLong, logit scale"


def auc_interval(ranks: ScoreRanks, steps: ThresholdCounts) -> Interval:
    """The interval of the AUC with ties as half wins, for instances without weights and groups.

    The standard error of the logit is that of the AUC divided by AUC · (1 - AUC). Source: DeLong, DeLong &
    Clarke-Pearson 1988; Pepe 2003 sec 5.2.
    """
    if min(ranks.positives, ranks.negatives) < MIN_OF_EACH:
        return no_interval(f"DeLong's interval needs at least {MIN_OF_EACH} positives and {MIN_OF_EACH} negatives.")
    area = Fraction(doubled_wins(ranks, "half"), 2 * ranks.positives * ranks.negatives)
    if area in {0, 1}:
        return no_interval(f"The AUC is {int(area)}, where its variance cannot be estimated.")
    return Interval(*auc_limits(area, delong_variance(steps)), METHOD)


def auc_limits(area: Fraction, variance: Fraction) -> tuple[float, float]:
    """The ends of the interval for an AUC strictly between 0 and 1."""
    error = float(variance) ** 0.5 / float(area * (1 - area))
    odds, factor = float(area / (1 - area)), math.exp(min(NORMAL_QUANTILE * error, 700.0))
    low, high = odds / factor, odds * factor
    return low / (1 + low), high / (1 + high)
