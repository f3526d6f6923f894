"""A stored comparison of two boards as organizers see it, and as visitors and participants do."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.scoring.standings import round_significant
from app.store.queries import board_previews
from app.store.session import ReadSession
from app.store.tables import Phase

SIDES = ("before", "after")
GONE_TEAM = "a team that no longer exists"

ShownComparison = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ReaderOfComparison:
    """What a reader may see of a comparison: digits, and teams by name or by pseudonym."""

    names: Mapping[str, str]
    pseudonyms: Mapping[str, str] = field(default_factory=dict)
    """Of teams whose names and submissions are hidden from the reader."""
    digits: int | None = None
    """The most significant digits that values are shown with; None for full precision."""
    organizer: bool = False
    """Whether all values are shown at full precision, whatever their recipe discloses."""

    def digits_of(self, stored: int | None) -> int | None:
        """The digits of values whose recipe discloses so many: never more than the reader sees now."""
        known = [digits for digits in (stored, self.digits) if digits is not None]
        return None if self.organizer else min(known, default=None)

    def team(self, team: str) -> dict[str, str | None]:
        """A team as a row of a board shows it."""
        if team in self.pseudonyms:
            return {"id": None, "name": self.pseudonyms[team]}
        return {"id": team if team in self.names else None, "name": self.names.get(team, GONE_TEAM)}


def organizer_comparison(session: ReadSession, phase: Phase, stored: Mapping[str, Any]) -> ShownComparison:
    """Everything, with the names that teams have now."""
    reader = ReaderOfComparison(board_previews.team_names(session, phase.challenge_id), organizer=True)
    shown: ShownComparison = {
        "splits": {split: show_difference(part, stored, reader) for split, part in stored["splits"].items()},
        "ladder": None if stored["ladder"] is None else show_difference(stored["ladder"], stored, reader),
    }
    for listed in ("unscored", "empty_predictions"):
        shown[listed] = [{**row, "team": reader.team(row["team"])} for row in stored.get(listed, ())]
    return shown


def show_difference(
    part: Mapping[str, Any],
    stored: Mapping[str, Any],
    reader: ReaderOfComparison,
    wanted: Callable[[Mapping[str, Any]], bool] = bool,  # a row is never empty
) -> dict[str, Any]:
    """The rows of one split that are wanted, by default all, and the counts over all rows."""
    rows = [_row(row, stored, reader) for row in part["rows"] if wanted(row)]
    leaders = part["leaders"]
    return {
        "primary": {side: stored[side]["primary"] for side in SIDES},
        "counts": part["counts"],
        "leaders": {side: [reader.team(team) for team in leaders[side]] for side in SIDES}
        | {"changed": leaders["changed"]},
        "rows": rows,
    }


def has_moved(row: Mapping[str, Any]) -> bool:
    """Whether the rank of a row changed, or the row came to have one or lost it."""
    return row["change"] not in {None, "same"}


def teams_of(parts: Sequence[Mapping[str, Any]]) -> Collection[str]:
    """The teams of all rows but those of baselines."""
    return {row["team"] for part in parts for row in part["rows"] if not row["baseline"]}


def _row(row: Mapping[str, Any], stored: Mapping[str, Any], reader: ReaderOfComparison) -> dict[str, Any]:
    hidden = row["team"] in reader.pseudonyms and not row["baseline"]
    team = {"id": row["team"], "name": reader.names.get(row["team"], GONE_TEAM)} if row["baseline"] else None
    sides = {side: _side(row[side], stored[side], reader, hidden=hidden) for side in SIDES}
    plain = {name: row[name] for name in ("baseline", "mark", "change", "move")}
    return {"team": team or reader.team(row["team"]), **plain, **sides}


def _side(
    side: Mapping[str, Any] | None, versions: Mapping[str, Any], reader: ReaderOfComparison, *, hidden: bool
) -> dict[str, Any] | None:
    if side is None:
        return None
    digits = reader.digits_of(versions["digits"])
    return {
        "submission": None if hidden else side["submission"],
        "rank": side["rank"],
        "tied": side["tied"],
        "scores": {name: {"value": round_significant(value, digits)} for name, value in side["scores"].items()},
    }
