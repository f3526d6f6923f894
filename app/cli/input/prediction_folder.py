"""A folder of prediction files, one a system, that are scored against one gold and put in order."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from app.cli.input import value_parsing
from app.cli.input.gold_and_predictions import (
    metric_chooser,
    read_gold_and_predictions,
    report_problems_and_exit,
    wants_scores,
)
from app.cli.terminal.output import CommandError, CommandOutput

if TYPE_CHECKING:
    from app.offline import OfflineOutcome
    from app.scoring.declaration.metric import MetricCall
    from app.scoring.evaluation_input import EvaluationInput

_ENDINGS = re.compile(
    r"(\.(map|columns|long))?(\.(json|jsonl|ndjson|csv|tsv|npz|parquet|arrow))?(\.(gz|zst))?$", re.IGNORECASE
)


def order_folder(
    out: CommandOutput,
    folder: Path,
    gold: Path | None,
    settings: Mapping[str, Any],
    *,
    metrics: Sequence[str],
    options: Mapping[str, str],
    draw_seed: str,
) -> dict[str, Any]:
    """The report on the systems of a folder; a file with problems ends the command."""
    from app.analysis.order.order_predictions import gives_order, order_predictions

    scored = score_folder(out, folder, gold, settings, metrics=metrics, options=options)
    calls = scored.calls
    for call in calls:
        if not gives_order(call):
            detail = f"'{call.requested}' gives no order: neither a higher nor a lower value is better."
            raise CommandError("no_order", detail, "Choose another metric.")
    with out.spinner("Drawing …"):
        report = order_predictions(scored.cases, scored.ids, calls, options=options, draw_seed=draw_seed)
    if "reason" in report:
        raise CommandError("no_order", str(report["reason"]), "Choose another metric, or check the files.")
    return report | {"notes": list(dict.fromkeys([*scored.notes, *report["notes"]]))}


@dataclass(frozen=True, slots=True)
class ScoredFolder:
    """The systems of a folder by name, scored against one gold; `cases` have their rows in the order of `ids`."""

    outcomes: Mapping[str, "OfflineOutcome"]
    cases: Mapping[str, "EvaluationInput"]
    ids: Sequence[str]
    notes: Sequence[str]

    @property
    def calls(self) -> Sequence["MetricCall"]:
        """The metrics that the systems were scored by."""
        return next(iter(self.outcomes.values())).calls


def score_folder(
    out: CommandOutput,
    folder: Path,
    gold: Path | None,
    settings: Mapping[str, Any],
    *,
    metrics: Sequence[str],
    options: Mapping[str, str],
) -> ScoredFolder:
    """Score the files of a folder; a file with problems ends the command."""
    from app.offline import in_id_order, score_systems_offline

    if gold is None:
        raise typer.BadParameter("needed for a folder of prediction files", param_hint="--gold")
    paths = _prediction_files(folder, gold)
    files = read_gold_and_predictions(gold, next(iter(paths.values())), **settings)
    sources = [value_parsing.make_source(path, None) for path in paths.values()]
    outcomes = score_systems_offline(
        files.gold,
        sources,
        metric_chooser(metrics, options),
        wants_scores=wants_scores(metrics),
        options=options,
        **files.task_settings(),
    )
    cases, ids = {}, list[str]()
    for name, outcome in zip(paths, outcomes, strict=True):
        if outcome.case is None:
            out.note(f"The problems are those of {paths[name]}.")
            report_problems_and_exit(out, files, outcome)
        cases[name], ids = in_id_order(outcome)
    notes = [*files.notes, *(note for outcome in outcomes for note in outcome.notes)]
    return ScoredFolder(dict(zip(paths, outcomes, strict=True)), cases, ids, list(dict.fromkeys(notes)))


def _prediction_files(folder: Path, gold: Path) -> dict[str, Path]:
    """The files of a folder by the name of the system, which is that of the file without its endings."""
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        if not path.is_file() or path.name.startswith(".") or path.samefile(gold):
            continue
        name = _ENDINGS.sub("", path.name)
        if name in found:
            detail = f"{found[name].name} and {path.name} would both be the system '{name}'."
            raise CommandError("name_taken", detail, "Rename one of the files.")
        found[name] = path
    if not found:
        raise CommandError("no_files", f"{folder} has no prediction files.", "Put one file for each system there.")
    return found
