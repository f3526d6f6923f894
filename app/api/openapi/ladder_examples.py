"""Examples of the feedback of Ladders in the API description."""

from fractions import Fraction

from app.api.openapi.examples import JSON, TEAM
from app.scoring.declaration.ladder_rule import LadderRule
from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.uncertainty.ladder_wording import describe_guarantee, describe_ladder

_RULE, _PRIMARY = LadderRule(Fraction(1, 20)), parse_metric("accuracy")
LADDER_USE: JSON = {
    "phase": "main",
    "ladder": {"step": 0.05, "meaning": describe_ladder(_RULE, "accuracy")},
    "heuristic": False,
    "guarantee": describe_guarantee(_RULE, _PRIMARY, instances=10_000, submissions=100),
    "instances": 10_000,
    "teams": [{"team": TEAM, "submissions": 12, "releases": 3, "waiting": 0, "value": 0.75}],
}
