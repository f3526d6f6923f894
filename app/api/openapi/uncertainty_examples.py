"""Examples of comparisons of boards for the API description."""

from app.actions.uncertainty.wording import LEVEL, METHOD, NULL_HYPOTHESIS, conclude, describe_choice
from app.api.openapi.examples import BOARD, DRAW_SEED, JSON, SUBMISSION_ID, TEAM, TIMESTAMP

_HEAD: JSON = {
    **{name: BOARD[name] for name in ("challenge", "phase", "split", "primary")},
    **{name: BOARD[name] for name in ("gold_version", "recipe_version", "scorer_version")},
    "draw_seed": DRAW_SEED,
    "status": "current",
    "reason": None,
    "computed_at": TIMESTAMP,
}
_ROW: JSON = {"row": 0, "team": TEAM, "submission": SUBMISSION_ID, "entries": 1}
_RANKED: JSON = _ROW | {
    "value": 0.733333,
    "low": 0.2,
    "high": 1.0,
    **dict.fromkeys(("rank", "rank_low", "rank_high", "tie_group"), 1),
    "first_share": 1.0,
    "podium_shares": [1.0],
    "better_than": [],
    "notes": [],
}
SIGNIFICANCE: JSON = _HEAD | {
    "metric": BOARD["primary"],
    "direction": "higher",
    "conclusion": conclude([_RANKED], None),
    "selection": describe_choice("best", None, "all", 1),
    "rests_on": {
        "level": LEVEL,
        "method": METHOD,
        "null_hypothesis": NULL_HYPOTHESIS,
        "entries": 1,
        "n": 4,
        "groups": None,
        "draws": 10_000,
        "notes": [],
    },
    "rows": [_RANKED],
    "pairs": [],
}
RANKINGS: JSON = _HEAD | {"rows": [_ROW], "result": {}}
