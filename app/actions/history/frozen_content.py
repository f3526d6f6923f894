"""The content of a frozen board: what it shows, without anything that another installation would name otherwise."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from app.actions.submissions.board_scores import describe_selection
from app.store.types import format_timestamp
from app.text.canonical_json import decimal_text

FORMAT = "urn:assay:frozen-board:v1"
_HEAD = ("split", "primary", "direction", "gold_version", "recipe_version", "scorer_version", "draw_seed")
_ROW = (
    "rank",
    "rank_low",
    "rank_high",
    "tie_group",
    "public_rank",
    "method",
    "entries",
    "baseline",
    "mark",
    "on_behalf",
)
_NUMBERS = ("value", "low", "high")


def frozen_content(board: Mapping[str, Any], *, challenge: str, phase: str) -> dict[str, Any]:
    """The content of a board with its rows, under the title of its challenge and the name of its phase.

    Left out are ids, slugs and addresses, what describes metrics in words, and when the board was frozen. Values are
    decimal texts with the digits that the board shows.
    """
    ladder = board["ladder"]
    return {
        "format": FORMAT,
        "challenge": challenge,
        "phase": phase,
        **{name: board[name] for name in _HEAD},
        "selection": {name: board["selection"][name] for name in ("rule", "max")},
        "ladder": None if ladder is None else {"step": str(ladder["step"])},
        "metrics": [_metric(each) for each in board["metrics"]],
        "rows": [_row(each) for each in board["rows"]],
    }


def _metric(described: Mapping[str, Any]) -> dict[str, Any]:
    options = {name: str(value) for name, value in sorted((described.get("options") or {}).items())}
    return {"key": described["key"], "direction": described["direction"], "options": options}


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **{name: row[name] for name in _ROW},
        "team": row["team"]["name"],
        "submitted_at": format_timestamp(row["submitted_at"]),
        "scores": {
            metric: {name: decimal_text(score[name]) for name in _NUMBERS if name in score}
            for metric, score in row["scores"].items()
        },
    }


def board_of(content: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """A frozen board in the shape of a board, for its tables; `names` are those of its metrics."""
    rows: Iterable[Mapping[str, Any]] = content["rows"]
    has_sets = any(row["rank_low"] is not None for row in rows)
    return {
        **content,
        "selection": describe_selection(content["selection"]["rule"], content["selection"]["max"], ()),
        "significance": {"status": "current" if has_sets else "none"},
        "metrics": [each | {"name": names.get(each["key"], each["key"])} for each in content["metrics"]],
        "total": len(content["rows"]),
        "rows": [
            dict(row)
            | {
                "team": {"id": None, "name": row["team"]},
                "submission": None,
                "submitted_at": datetime.fromisoformat(row["submitted_at"]),
                "scores": {
                    metric: {name: None if text is None else float(text) for name, text in score.items()}
                    for metric, score in row["scores"].items()
                },
            }
            for row in rows
        ],
    }
