"""The command `assay` of a later version whose scorer's number was raised: `python -m tests.newer_scorer_command VERSION COMMAND …`."""

import sys

import app.scoring

app.scoring.SCORER_VERSION = int(sys.argv.pop(1))  # before anything reads it

from app.cli import main  # noqa: E402

main()
