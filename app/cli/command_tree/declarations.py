"""What declares a command: its name, its function, its one-line help and an example."""

from typing import NamedTuple

EXAMPLE_SUBMISSION_ID = "019a3c5e7b1f7d04a2c98e6f50b1d327"


class CommandDeclaration(NamedTuple):
    """A command of the tree."""

    name: str
    function: str
    """The function that runs it, as `module.function` below `app.cli`."""
    summary: str
    """What it does, in one line: the first paragraph of the function's docstring."""
    example: str


class GroupDeclaration(NamedTuple):
    """A group of commands, which are called by its name and theirs."""

    name: str
    summary: str
    commands: tuple[CommandDeclaration, ...]


GOLD_OPENING = CommandDeclaration(
    "opening",
    "gold.open_gold",
    "Show the nonce that opens the commitment to a version, to be published with the gold, never before.",
    "assay gold opening digits 1",
)
