"""Two boards of the same phase row by row: who moved, entered or left, and by how much; pure."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from app.scoring.standings import Standing

RowKey = tuple[str, str | None, str | None]
"""What a row of a board is the row of: a team, with its mark, and for a baseline the submission."""


class BoardSide(NamedTuple):
    """A board before or after a switch: its rows, best first, and the metric values of their submissions."""

    standings: Sequence[Standing]
    values: Mapping[str, Mapping[str, float | None]]
    """By submission, then by the canonical string of the metric."""


def board_difference(before: BoardSide, after: BoardSide) -> dict[str, Any]:
    """The rows of both boards beside each other, in the order of the later one, and how many ranks moved.

    Rows that left the board follow in their former order.
    """
    old, new = _rows_by_key(before), _rows_by_key(after)
    rows = [_row(key, old.get(key), new.get(key)) for key in [*new, *(key for key in old if key not in new)]]
    return {"rows": rows, "counts": _counts(rows), "leaders": _leaders(rows)}


def _rows_by_key(side: BoardSide) -> dict[RowKey, dict[str, Any]]:
    return {
        _key(standing): {
            "submission": standing.entry.submission,
            "rank": standing.rank,
            "tied": standing.tied,
            "scores": dict(side.values.get(standing.entry.submission, {})),
        }
        for standing in side.standings
    }


def _key(standing: Standing) -> RowKey:
    entry = standing.entry
    return entry.team, entry.mark, entry.submission if entry.baseline else None


def _row(key: RowKey, before: dict[str, Any] | None, after: dict[str, Any] | None) -> dict[str, Any]:
    team, mark, baseline = key
    ranks = [None if side is None else side["rank"] for side in (before, after)]
    move = None if ranks[0] is None or ranks[1] is None else ranks[0] - ranks[1]
    return {
        "team": team,
        "baseline": baseline is not None,
        "mark": mark,
        "before": before,
        "after": after,
        "move": move,
        "change": _change(ranks[0], ranks[1]),
    }


def _change(before: int | None, after: int | None) -> str | None:
    """What happened to the rank of a row; None where it had none before and has none after."""
    if before is None:
        return None if after is None else "entered"
    if after is None:
        return "left"
    return "same" if before == after else "up" if after < before else "down"


def _counts(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    moves = [abs(row["move"]) for row in rows if row["move"] is not None]
    changes = [row["change"] for row in rows]
    return {
        "ranked_before": sum(_rank(row, "before") is not None for row in rows),
        "ranked_after": sum(_rank(row, "after") is not None for row in rows),
        "moved": sum(move > 0 for move in moves),
        "largest_move": max(moves, default=0),
        "entered": changes.count("entered"),
        "left": changes.count("left"),
        "other_submission": sum(_counts_another(row) for row in rows),
    }


def _rank(row: Mapping[str, Any], side: str) -> int | None:
    found: int | None = None if row[side] is None else row[side]["rank"]
    return found


def _counts_another(row: Mapping[str, Any]) -> bool:
    """Whether another submission of the team counts than before."""
    before, after = row["before"], row["after"]
    return before is not None and after is not None and before["submission"] != after["submission"]


def _leaders(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The teams of rank 1 before and after."""
    before, after = (sorted(row["team"] for row in rows if _rank(row, side) == 1) for side in ("before", "after"))
    return {"before": before, "after": after, "changed": before != after}
