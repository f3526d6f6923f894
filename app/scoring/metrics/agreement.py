"""Agreement beyond chance: Cohen's kappa and the multi-class Matthews correlation."""

from fractions import Fraction

from app.scoring.exact import square_root, times, total
from app.scoring.metric import LABELS, Metric, MetricCall, Properties, Result, register
from app.scoring.metrics.examples import MULTICLASS, worked
from app.scoring.metrics.rules import UndefinedError
from app.scoring.metrics.whole import READING, SINGLE
from app.scoring.tally import Tally, Workspace


def _chance(tally: Tally) -> int:
    """The sum over classes of (times predicted) × (times in gold)."""
    return total(times(tally.classes.predicted, tally.classes.support))


def cohen_kappa(ws: Workspace, call: MetricCall) -> Result:
    """(p_o - p_e) / (1 - p_e) as one division of integers; no value where chance agreement is 1."""
    tally = ws.tally(call.options)
    chance = _chance(tally)
    if tally.n**2 == chance:
        raise UndefinedError("gold and predictions are one and the same single class, so chance agreement is 1 (0/0)")
    return Result((tally.n * tally.exact - chance) / (tally.n**2 - chance))


def mcc(ws: Workspace, call: MetricCall) -> Result:
    """The multi-class R_K with a correctly rounded square root; 0 and flagged where a side is constant (row 30).

    A label outside the vocabulary and a missing prediction count as categories of their own.
    """
    tally = ws.tally(call.options)
    gold, predicted = tally.classes.support, tally.classes.predicted
    covariance = tally.n * tally.exact - _chance(tally)
    spread_predicted = tally.n**2 - total(times(predicted, predicted)) - tally.outside_fp**2 - tally.nothing**2
    spread_gold = tally.n**2 - total(times(gold, gold)) - tally.outside_fn**2
    if spread_predicted == 0 or spread_gold == 0:
        side = "gold" if spread_gold == 0 else "the predictions"
        return Result(0.0, None, (f"all of {side} is one class: the correlation is 0/0 and counts as 0",))
    size = square_root(Fraction(covariance**2, spread_predicted * spread_gold))
    return Result(-size if covariance < 0 else size)


register(
    Metric(
        key="cohen_kappa",
        name="Cohen's kappa",
        names=("kappa", "chance-corrected agreement"),
        equation=r"\kappa=\frac{p_{o}-p_{e}}{1-p_{e}},\quad p_{o}=\frac{1}{n}\sum_{j} \mathrm{TP}_{j},\;p_{e}=\frac{1}{n^{2}}\sum_{j} p_{j}\,n_{j}",
        tasks=SINGLE,
        needs=(LABELS,),
        direction="higher",
        range=(-1.0, 1.0),
        params=(),
        options=READING,
        properties=Properties(symmetric=True, prevalence_sensitive=True),
        source="Cohen 1960, A coefficient of agreement for nominal scales",
        example=worked(MULTICLASS, "4/13"),
        compute=cohen_kappa,
        hints={"multilabel": "kappa is for one label per instance"},
    )
)
register(
    Metric(
        key="mcc",
        name="Matthews correlation coefficient",
        names=("phi coefficient", "R_K"),
        equation=r"\frac{n\sum_{j} \mathrm{TP}_{j}-\sum_{j} p_{j}\,n_{j}}{\sqrt{(n^{2}-\sum_{j} p_{j}^{2})(n^{2}-\sum_{j} n_{j}^{2})}}",
        tasks=SINGLE,
        needs=(LABELS,),
        direction="higher",
        range=(-1.0, 1.0),
        params=(),
        options=READING,
        properties=Properties(symmetric=True, prevalence_sensitive=True),
        source="Gorodkin 2004, Comparing two K-category assignments by a K-category correlation coefficient",
        example=worked(MULTICLASS, "0.32714432804381227"),
        compute=mcc,
        hints={"multilabel": "the correlation is for one label per instance"},
    )
)
