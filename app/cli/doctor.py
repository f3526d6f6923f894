"""The command that examines an installation and says how to mend it."""

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

    from app.doctor import Finding

Deep = Annotated[
    bool, typer.Option("--deep", help="Also read every stored file and compare every index; may take an hour.")
]


def doctor(data_dir: DataDir = None, deep: Deep = False, as_json: AsJson = False) -> None:
    """Check everything of an installation, and say how to mend what is wrong; changes nothing.

    Runs beside a service at work, or without one. Exit status 0 without problems, 1 with one.
    """
    with command_output(as_json=as_json) as out:
        from app.doctor import run_checks
        from app.runtime import logging_setup

        with logging_setup.silence_logs(), out.spinner("Looking …"):
            found = list(run_checks(lambda: load_settings(data_dir=data_dir), os.environ, deep=deep))
        states: Counter[str] = Counter(finding.state for finding in found)
        worst = next((state for state in ("problem", "warning") if states[state]), "ok")
        value = {"state": worst, "findings": [finding.to_dict() for finding in found]}
        out.result(value, lambda console: _show_findings(console, found, states))
    if worst == "problem":
        raise typer.Exit(EXIT_FAILED)


def _show_findings(console: "Console", found: "Sequence[Finding]", states: "Counter[str]") -> None:
    """A line for each check that was made, the remedy below those that need one, and a count at the end."""
    from app.doctor import NOT_APPLICABLE

    shown = [finding for finding in found if finding.seen != NOT_APPLICABLE]
    width = max(len(finding.check) for finding in shown)
    for finding in shown:
        console.print(f"{finding.state:<7}  {finding.check:<{width}}  {clean(finding.seen)}", **PLAIN)
        if finding.remedy:
            console.print(f"{'':<7}  {'':<{width}}  → {clean(finding.remedy)}", **PLAIN)
    counted = (f"{states['problem']} problems", f"{states['warning']} warnings", f"{states['ok']} ok")
    console.print(f"\n{', '.join(counted)}, {states['skipped']} skipped", **PLAIN)
