"""Item analysis of a folder of prediction files, without a service."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.cli.input.prediction_folder import ScoredFolder

if TYPE_CHECKING:
    from app.analysis.items.report import ItemAnalysis

Changes = Sequence[Mapping[str, Any]]


class FolderItems:
    """The systems of a folder; replies have the form of the API, with the name of the file of each system."""

    def __init__(self, scored: ScoredFolder) -> None:
        self._scored = scored
        self._systems = [{"system": name} for name in scored.cases]

    def _analysis(self) -> "ItemAnalysis":
        from app.analysis.items.answers import answer_matrix
        from app.analysis.items.report import ItemAnalysis

        return ItemAnalysis(answer_matrix(self._scored.cases.items(), self._scored.ids))

    def _reply(self, found: Mapping[str, Any]) -> dict[str, Any]:
        return {**found, "systems": self._systems, "notes": list(self._scored.notes)}

    def items(self, *, select: str, sort: str, limit: int) -> dict[str, Any]:
        """The first instances of a selection in an order."""
        analysis = self._analysis()
        rows = analysis.rows(sort, select)
        found = {"selected": len(rows), "items": list(analysis.items(rows[:limit]))}
        return self._reply(analysis.summary() | found)

    def table(self, *, select: str, sort: str) -> str:
        """All instances of a selection as CSV."""
        from app.analysis.items.report import write_items_csv

        analysis, out = self._analysis(), io.StringIO()
        write_items_csv(out, analysis.items(analysis.rows(sort, select)))
        return out.getvalue()

    def agreement(self) -> dict[str, Any]:
        """How far the systems agree."""
        return self._reply(self._analysis().agreement())

    def near_duplicates(self) -> dict[str, Any]:
        """Systems with the same errors; every file counts as one of another team."""
        report = self._analysis().near_duplicates(list(self._scored.cases))
        report["left_out_pairs"] = report.pop("left_out")
        return self._reply(report)

    def try_relabelling(self, changes: Changes) -> dict[str, Any]:
        """Ranks and values before and after; the first metric gives the order."""
        from app.analysis.items.relabelling import LabelChange, describe_moves, relabel, score_twice

        scored, first = self._scored, next(iter(self._scored.cases.values()))
        parsed = [LabelChange.of(change) for change in changes]
        changed = relabel(first.spec, first.gold, scored.ids, parsed, first.unknown)
        twice = [
            score_twice(name, case, changed, scored.calls, rule=scored.outcomes[name].rule)
            for name, case in scored.cases.items()
        ]
        moves = describe_moves(twice, scored.calls, [scored.calls[0].text])
        positions = {name: at for at, name in enumerate(scored.cases)}
        moves["rows"] = [row | {"system": positions[row["system"]]} for row in moves["rows"]]
        sizes = {"before": changed.labels.n, "after": len(changed.kept)}
        return self._reply({"changes": changed.summary(), "instances": sizes} | moves)

    def save_corrected_gold(self, changes: Changes, target: Path) -> None:
        """Write the whole gold with the changes applied as JSON Lines."""
        from app.analysis.items.corrected_gold import gold_lines
        from app.analysis.items.relabelling import LabelChange, relabel

        gold = next(iter(self._scored.outcomes.values())).gold
        assert gold is not None
        parsed = [LabelChange.of(change) for change in changes]
        changed = relabel(gold.spec, gold.labels, gold.ids, parsed, gold.unknown)
        with target.open("w", encoding="utf-8") as stream:
            stream.writelines(gold_lines(gold, changed))
