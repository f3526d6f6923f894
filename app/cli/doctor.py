"""The command that checks an installation and suggests remedies."""

import os
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.options import AsJson, DataDir
from app.cli.serve import load_settings
from app.cli.terminal.output import EXIT_FAILED, command_output
from app.cli.terminal.safe_text import PLAIN, clean

if TYPE_CHECKING:
    from rich.console import Console

    from app.cli.terminal.output import CommandOutput
    from app.doctor import Finding
    from app.settings import Settings

Repair = Annotated[
    bool,
    typer.Option("--repair", help="First derive the ranked values again where they differ from the scores."),
]
Deep = Annotated[bool, typer.Option("--deep", help="Also check every stored file and index; can take an hour.")]


def doctor(data_dir: DataDir = None, deep: Deep = False, repair: Repair = False, as_json: AsJson = False) -> None:
    """Check an installation and suggest remedies; without --repair it changes nothing.

    The service may be running or stopped. Exit status 0 without problems, 1 with problems.
    """
    with command_output(as_json=as_json) as out:
        from app.doctor import run_checks
        from app.runtime import logging_setup

        if repair:
            _repair(load_settings(data_dir=data_dir), out)
        with logging_setup.silence_logs(), out.spinner("Checking the installation"):
            findings = list(run_checks(lambda: load_settings(data_dir=data_dir), os.environ, deep=deep))
        states: Counter[str] = Counter(finding.state for finding in findings)
        worst = next((state for state in ("problem", "warning") if states[state]), "ok")
        value = {"state": worst, "findings": [finding.to_dict() for finding in findings]}
        out.result(value, lambda console: _show_findings(console, findings, states))
    if worst == "problem":
        raise typer.Exit(EXIT_FAILED)


def _repair(settings: "Settings", out: "CommandOutput") -> None:
    from app.actions.operations.rebuild_ranked_values import repair
    from app.cli.serve import require_database_file
    from app.store.migrate import require_head
    from app.store.session import Database

    require_database_file(settings)
    database = Database(settings)
    try:
        require_head(database.engine())
        rebuilt = repair(database)
    finally:
        database.close()
    out.say(
        f"Corrected the ranked values of {rebuilt.submissions} submissions, and {rebuilt.counts} numbers of entries."
    )


def _show_findings(console: "Console", findings: "Sequence[Finding]", states: "Counter[str]") -> None:
    """One line per applicable check, with the remedy below it, and the number of checks by state."""
    from app.doctor import NOT_APPLICABLE

    shown = [finding for finding in findings if finding.seen != NOT_APPLICABLE]
    width = max(len(finding.check) for finding in shown)
    for finding in shown:
        console.print(f"{finding.state:<7}  {finding.check:<{width}}  {clean(finding.seen)}", **PLAIN)
        if finding.remedy:
            console.print(f"{'':<7}  {'':<{width}}  → {clean(finding.remedy)}", **PLAIN)
    counts = (f"{states['problem']} problems", f"{states['warning']} warnings", f"{states['ok']} ok")
    console.print(f"\n{', '.join(counts)}, {states['skipped']} skipped", **PLAIN)
