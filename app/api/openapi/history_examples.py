"""Examples of former boards for the API description."""

from app.actions.history.frozen_content import FORMAT
from app.api.openapi.examples import BOARD, DRAW_SEED, JSON, SUBMISSION_ID, TEAM, TIMESTAMP
from app.text.canonical_json import content_hash

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

_CONTENT: JSON = {
    "format": FORMAT,
    "challenge": "Pets",
    "phase": "main",
    "split": "all",
    "primary": "accuracy",
    "direction": "higher",
    **_VERSIONS,
    "draw_seed": DRAW_SEED,
    "selection": {"rule": "best", "max": None},
    "ladder": None,
    "metrics": [{"key": "accuracy", "direction": "higher", "options": {}}],
    "rows": [
        {
            **dict.fromkeys(("rank", "rank_low", "rank_high", "tie_group", "entries"), 1),
            "public_rank": None,
            "method": "guess",
            "baseline": False,
            "mark": None,
            "on_behalf": False,
            "team": "Blue",
            "submitted_at": TIMESTAMP,
            "scores": {"accuracy": {"value": "0.75", "low": "0.25", "high": "1"}},
        }
    ],
}
_HASH = content_hash(_CONTENT)
_ADDRESS = "https://assay.example.org/challenges/pets/phases/main/frozen-boards/1"
FROZEN_HEAD: JSON = {
    "number": 1,
    "title": "Final results of Pets 2027",
    "reason": "All objections were decided.",
    "challenge": "pets",
    "phase": "main",
    "frozen_at": TIMESTAMP,
    "sha256": _HASH,
    "superseded_by": None,
    "address": _ADDRESS,
}
FROZEN: JSON = {
    **FROZEN_HEAD,
    "checkpoint": None,
    "log": {"origin": None, "position": None, "entry": "0" * 64, "salt": "1" * 64, "record": "{}"},
    "citation": f"Final results of Pets 2027. Leaderboard, version 1. {_ADDRESS}. SHA-256 {_HASH}.",
    "bibtex": "@misc{board}",
    "content": _CONTENT,
}
FROZEN_CSV = "rank,team,method,submission\n1,Blue,guess,\n"
FROZEN_LATEX = "\\begin{tabular}{rllrl}\n\\end{tabular}\n"
