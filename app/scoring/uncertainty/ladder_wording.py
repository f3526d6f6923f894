"""Sentences about the Ladder: what participants are told instead of scores, and what it guarantees."""

from app.scoring.declaration.ladder_rule import LadderRule, is_instance_mean
from app.scoring.declaration.metric import MetricCall
from app.scoring.uncertainty.ladder import CONFIDENCE, guaranteed_error

_FIXED = (
    "This phase limits feedback by the Ladder (Blum and Hardt 2015): a submission changes what its team is shown only "
    "if its {metric} is better than the team's best so far by more than {step}, and is then rounded to a multiple of "
    "{step}."
)
_AUTO = (
    "This phase limits feedback by the parameter-free Ladder (Blum and Hardt 2015): a submission changes what its team "
    "is shown only if its {metric} is better than the team's best so far by more than the largest standard error that "
    "their difference can have, and is then rounded to a multiple of 1/n, where n is the number of scored instances."
)
_SHOWN = (
    "Everybody but the organizers sees this best so far instead of the scores of single submissions. Other metrics and "
    "reports are for organizers until the final release."
)
HEURISTIC = "heuristic"
_HEURISTIC_AUTO = "The parameter-free Ladder is a heuristic: no theorem bounds how far the best so far may be off."
_HEURISTIC_METRIC = (
    "With '{metric}' the Ladder is a heuristic: the theorem of Blum and Hardt is about means over instances of a loss "
    "from 0 to 1."
)
_HEURISTIC_WEIGHTS = "With weighted instances the Ladder is a heuristic: the theorem of Blum and Hardt is about plain means over instances."
_HEURISTIC_GROUPS = (
    "With groups the Ladder is a heuristic: the theorem of Blum and Hardt is about instances drawn independently, and "
    "those of one group resemble each other."
)
_THEOREM = (
    "Theorem 3.1 of Blum and Hardt holds for the best so far of one team: with n = {n} scored instances, k = {k} "
    "submissions and a step of η = {step}, the probability that it differs from the true value of the team's best "
    "submission by more than ε + η is at most exp(−2ε²n + (1/η + 2)·ln(4k/η) + 1)."
)
_PROVEN = (
    "Theorem 3.1 of Blum and Hardt bounds by how much the best so far may be off. The page of the phase states it for "
    "its gold and its quota."
)
_UNLESS_WEIGHTED = "If the instances of the gold have weights or groups, the Ladder is a heuristic."
_MARGIN = "With {confidence} % confidence it is off by at most {margin}."
_NOTHING = "For these numbers the theorem excludes nothing: a larger step or more instances would be needed."
_LATER = "Theorem 3.1 of Blum and Hardt is stated here once there are gold and a submission."
_ASSUMPTION = "It supposes that the team uses no outputs but its own."


def describe_ladder(rule: LadderRule, metric: str) -> str:
    """What participants of a phase have to know."""
    template = _AUTO if rule.step is None else _FIXED
    return f"{template.format(metric=metric, step=rule.text)} {_SHOWN}"


def why_heuristic(rule: LadderRule, primary: MetricCall, *, weighted: bool, grouped: bool) -> str | None:
    """Why no theorem holds, in a sentence with the word 'heuristic'; None where one does."""
    if rule.step is None:
        return _HEURISTIC_AUTO
    if not is_instance_mean(primary):
        return _HEURISTIC_METRIC.format(metric=primary.text)
    if weighted:
        return _HEURISTIC_WEIGHTS
    return _HEURISTIC_GROUPS if grouped else None


def announce_guarantee(rule: LadderRule, primary: MetricCall) -> str:
    """Whether a theorem will hold, where neither gold nor quota are known: the word 'heuristic' says that none will."""
    return why_heuristic(rule, primary, weighted=False, grouped=False) or f"{_PROVEN} {_UNLESS_WEIGHTED}"


def describe_guarantee(
    rule: LadderRule,
    primary: MetricCall,
    *,
    instances: int,
    submissions: int,
    weighted: bool = False,
    grouped: bool = False,
) -> str:
    """What the Ladder guarantees for so many instances and submissions of one team, or that it is a heuristic."""
    reason = why_heuristic(rule, primary, weighted=weighted, grouped=grouped)
    if reason is not None:
        return reason
    assert rule.step is not None
    if not instances or not submissions:
        return _LATER
    margin = guaranteed_error(instances, submissions, float(rule.step))
    stated = _THEOREM.format(n=f"{instances:,}", k=f"{submissions:,}", step=rule.text)
    worth = _NOTHING if margin >= 1 else _MARGIN.format(confidence=f"{CONFIDENCE * 100:g}", margin=f"{margin:.3f}")
    return f"{stated} {worth} {_ASSUMPTION}"
