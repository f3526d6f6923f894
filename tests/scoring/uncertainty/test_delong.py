"""DeLong's interval of an AUC on the logit scale, from the areas and variances that pROC printed."""

import json
from math import exp, log, sqrt
from pathlib import Path

import numpy as np
import pytest

from app.scoring.curves import delong_variance, threshold_counts
from app.scoring.score_ranks import rank_positives
from app.scoring.uncertainty.bootstrap_interval import Interval
from app.scoring.uncertainty.delong import auc_interval
from tests.each_case import for_each

RECORDED = json.loads((Path(__file__).parents[2] / "oracles/r/proc_rocr.json").read_text())


def interval_of(scores: list[float], truth: list[bool]) -> Interval:
    values, own = np.array(scores, dtype=float), np.array(truth)
    return auc_interval(rank_positives(values, own), threshold_counts(values, own))


@for_each("at", range(4))
def test_the_interval_follows_from_the_area_and_variance_of_proc(at: int) -> None:
    vector = RECORDED["binary"][at]
    scores, truth = vector["scores"] * 2, RECORDED["truth"] * 2  # 24 positives are too few; twice as many are enough
    values, own = np.array(vector["scores"]), np.array(RECORDED["truth"])
    assert float(delong_variance(threshold_counts(values, own))) == pytest.approx(vector["delong_variance"], rel=1e-12)
    found, area = interval_of(scores, truth), vector["auc"]
    variance = float(delong_variance(threshold_counts(np.array(scores), np.array(truth))))
    error = sqrt(variance) / (area * (1 - area))
    ends = [1 / (1 + exp(-(log(area / (1 - area)) + sign * 1.959963984540054 * error))) for sign in (-1, 1)]
    assert [found.low, found.high] == pytest.approx(ends, rel=1e-12)


def test_too_few_instances_or_a_perfect_order_have_no_interval_and_say_why() -> None:
    few = interval_of([float(i) for i in range(59)], [i % 2 == 0 for i in range(59)])
    assert few.low is None
    assert "at least 30" in str(few.reason)
    for positives_first, value in ((True, 0), (False, 1)):
        perfect = interval_of([float(i) for i in range(60)], [(i < 30) == positives_first for i in range(60)])
        assert perfect.low is None
        assert f"The AUC is {value}," in str(perfect.reason)
