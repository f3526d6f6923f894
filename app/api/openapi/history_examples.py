"""Examples of former boards for the API description."""

from app.api.openapi.examples import BOARD, JSON, SUBMISSION_ID, TEAM, TIMESTAMP

_VERSIONS: JSON = {name: BOARD[name] for name in ("gold_version", "recipe_version", "scorer_version")}
HISTORY: JSON = {
    **{name: BOARD[name] for name in ("challenge", "phase", "split", "primary", "direction")},
    **_VERSIONS,
    "total": 1,
    "start": 0,
    "points": [
        {
            "at": TIMESTAMP,
            "kind": "submission",
            "team": TEAM,
            "submission": SUBMISSION_ID,
            "method": "guess",
            "entries": 1,
            "reason": None,
            "split": BOARD["split"],
            "primary": BOARD["primary"],
            **_VERSIONS,
            "changes": [{"team": TEAM, "rank": 1, "value": 0.733333, "mark": None}],
        }
    ],
    "next": None,
}
