"""Computes the scores of an archive again, for `assay score --archive`."""

from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

import typer

from app.cli.terminal.archive_tables import show_archived_scores
from app.cli.terminal.output import EXIT_FAILED, CommandError, CommandOutput


def score_archive(out: CommandOutput, file: Path, submissions: Sequence[str]) -> None:
    """Show every score of the archive, or of these submissions, beside what is computed now; fails if they differ."""
    from app.archives.open_archive import open_archive
    from app.archives.rescoring import FAILED, rescore_archive
    from app.scoring import SCORER_VERSION

    wanted = set(submissions) or None
    with open_archive(file) as archive, out.spinner("Scoring"):
        rows = [score.to_dict() for score in rescore_archive(archive, wanted)]
        about = {name: archive.manifest.get(name) for name in ("challenge", "phase", "exported_at")}
    _require_found(wanted or (), {row["submission"] for row in rows})
    counts = Counter(row["outcome"] for row in rows)
    report = about | {"scorer_version": SCORER_VERSION, "outcomes": dict(counts), "scores": rows}
    out.result(report, lambda console: show_archived_scores(console, rows))
    if FAILED & counts.keys():
        raise typer.Exit(EXIT_FAILED)


def _require_found(wanted: Collection[str], found: Collection[str]) -> None:
    for submission in wanted:
        if submission not in found:
            detail = f"The archive has no scores of a submission '{submission}'."
            raise CommandError("not_found", detail, "Leave out --submission to see all.")
