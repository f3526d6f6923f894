"""Run a command as its user would; the result has status, standard output and standard error."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from app.cli import root


@dataclass(frozen=True)
class CommandResult:
    status: int
    out: str
    err: str

    def value(self) -> Any:
        """The one JSON value on standard output."""
        return json.loads(self.out)


def run_assay(*words: object, stdin: str | bytes | None = None) -> CommandResult:
    result = CliRunner().invoke(root, [str(word) for word in words], input=stdin, prog_name="assay")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return CommandResult(result.exit_code, result.stdout, result.stderr)


def write_file(path: Path, content: Any) -> Path:
    """A file with a text, or with a value as JSON."""
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path
