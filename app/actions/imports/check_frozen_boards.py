"""Check that every value of an archived frozen board is one that a submission of the archive has, computed again."""

import json
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from app.actions.imports.archived_fields import FrozenRow, parse_row
from app.actions.imports.staged_phase import Key, StagedFrozenBoard
from app.archives import layout
from app.archives.open_archive import Archive, InvalidArchive
from app.scoring.declaration.recipe import ScoringRecipe
from app.scoring.standings import round_significant
from app.store.types import format_timestamp
from app.text.canonical_json import canonical_json, content_hash, decimal_text

MAX_BOARDS = 1000
MAX_BYTES = 64 << 20
FORMAT = "urn:assay:frozen-board:v1"
_FIELDS = {
    "gold_version": int,
    "recipe_version": int,
    "scorer_version": int,
    "split": str,
    "rows": list,
    "metrics": list,
}


class FrozenBoards:
    """The frozen boards of an archive, whose rows are ticked off as submissions are scored."""

    def __init__(self, archive: Archive, recipes: Mapping[int, ScoringRecipe]) -> None:
        self.boards: list[StagedFrozenBoard] = []
        self._recipes = recipes
        self._open: dict[str, list[tuple[int, Key, str, dict[str, Any]]]] = defaultdict(list)
        for raw in archive.rows(layout.FROZEN):
            row = parse_row(FrozenRow, raw, layout.FROZEN)
            if len(self.boards) >= MAX_BOARDS or row.number != len(self.boards) + 1:
                raise InvalidArchive(f"Frozen board {row.number} is out of order, or there are too many.")
            self._add(archive, row)

    def _add(self, archive: Archive, row: FrozenRow) -> None:
        member = archive.members.get(row.file)
        if member is None or member.sha256 != row.sha256 or member.size > MAX_BYTES:
            raise InvalidArchive(f"Frozen board {row.number} is not the one that its hash cites.")
        text = b"".join(archive.pieces(row.file))
        try:
            content = json.loads(text)
            _require_content(content, row.sha256)
            key = (content["gold_version"], content["recipe_version"], content["scorer_version"])
            if content.get("ladder") is None:  # outputs of a Ladder are no values of a submission
                for each in content["rows"]:
                    self._open[each["submitted_at"]].append((row.number, key, content["split"], each))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InvalidArchive(f"Frozen board {row.number} cannot be read.") from error
        self.boards.append(StagedFrozenBoard(row, canonical_json(content).decode()))

    def confirm(self, submitted_at: Any, scores: Mapping[Key, Mapping[str, Mapping[str, Any]]]) -> None:
        """Tick off the rows of boards that show the scores of this submission."""
        moment = format_timestamp(submitted_at)
        waiting = self._open.get(moment)
        if waiting:
            left = [each for each in waiting if not self._shows(each[1], each[2], each[3], scores)]
            self._open[moment] = left

    def _shows(
        self, key: Key, split: str, row: Mapping[str, Any], scores: Mapping[Key, Mapping[str, Mapping[str, Any]]]
    ) -> bool:
        """Whether these are the values of a row; recipes with the same metrics compute the same values."""
        recipe = self._recipes.get(key[1])
        if recipe is None:
            return False
        for found, by_split in scores.items():
            if (found[0], found[2]) != (key[0], key[2]) or split not in by_split:
                continue
            if all(
                name in by_split[split] and cell.get("value") == _shown(by_split[split][name]["value"], recipe.digits)
                for name, cell in row["scores"].items()
            ):
                return True
        return False

    def require_all_confirmed(self) -> None:
        """Raise InvalidArchive for a row whose values no submission has."""
        for waiting in self._open.values():
            for number, _, _, row in waiting:
                raise InvalidArchive(
                    f"Frozen board {number} shows values of '{str(row.get('team'))[:100]}' that no submission of the "
                    "archive has."
                )


def _require_content(content: Any, sha256: str) -> None:
    """Raise ValueError or KeyError unless this is the content with this hash, with the fields that are read here."""
    if content_hash(content) != sha256 or content["format"] != FORMAT:
        raise ValueError(sha256)
    for name, kind in _FIELDS.items():
        if not isinstance(content[name], kind):
            raise ValueError(name)  # noqa: TRY004 - as for any other fault of the content


def _shown(value: float | None, digits: int | None) -> str | None:
    return decimal_text(round_significant(value, digits))
