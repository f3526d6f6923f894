"""Computes the scores of an archive again, for `assay score --archive`."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import typer

from app.cli.terminal.archive_tables import show_archived_scores
from app.cli.terminal.output import EXIT_FAILED, CommandError, CommandOutput, command_output


def score_archive(file: Path | None, submissions: Sequence[str], *, others: Iterable[object], as_json: bool) -> None:
    """Show every score of the archive, or of these submissions, beside what is computed now; fails if they differ.

    It also fails if the archive has other predicted or actual classes of an instance than its gold and predictions give.

    `others` are options that an archive takes the place of.
    """
    if file is None:
        raise typer.BadParameter("only with --archive", param_hint="--submission")
    if any(others):
        raise typer.BadParameter("takes gold, predictions and recipe from the archive", param_hint="--archive")
    with command_output(as_json=as_json) as out:
        _compare_scores(out, file, set(submissions) or None)


def _compare_scores(out: CommandOutput, file: Path, wanted: Collection[str] | None) -> None:
    from app.archives.open_archive import open_archive
    from app.archives.rescoring import FAILED, rescore_archive
    from app.scoring import SCORER_VERSION

    with open_archive(file) as archive, out.spinner("Scoring"):
        rows = [score.to_dict() for score in rescore_archive(archive, wanted)]
        about = {name: archive.manifest.get(name) for name in ("challenge", "phase", "exported_at")}
    _require_found(wanted or (), {row["submission"] for row in rows})
    counts = Counter(row["outcome"] for row in rows)
    instances = Counter({row["submission"]: row["instances"] for row in rows if row["instances"]}.values())
    report = about | {"scorer_version": SCORER_VERSION, "outcomes": dict(counts), "instances": dict(instances)}
    out.result(report | {"scores": rows}, lambda console: show_archived_scores(console, rows))
    if FAILED & (counts.keys() | instances.keys()):
        raise typer.Exit(EXIT_FAILED)


def _require_found(wanted: Collection[str], found: Collection[str]) -> None:
    for submission in wanted:
        if submission not in found:
            detail = f"The archive has no scores of a submission '{submission}'."
            raise CommandError("not_found", detail, "Leave out --submission to see all.")
