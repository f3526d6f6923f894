"""The tree of all commands: name, one-line help and example of each, and the function that runs it.

The functions are named, not imported: a command imports its own module alone (`app.cli.command_loading`), and the help
of the tree imports none.
"""

from collections.abc import Iterator, Mapping

from app.cli.command_tree import offline_commands, operator_commands, organizer_commands, participant_commands
from app.cli.command_tree.declarations import CommandDeclaration, GroupDeclaration

COMMAND_TREE: Mapping[str, tuple[CommandDeclaration | GroupDeclaration, ...]] = {
    "Score on this machine": offline_commands.COMMANDS,
    "Take part": participant_commands.COMMANDS,
    "Organize": organizer_commands.COMMANDS,
    "Run the service": operator_commands.COMMANDS,
}
"""The commands by the heading under which the help lists them."""


def iter_commands() -> Iterator[tuple[tuple[str, ...], CommandDeclaration]]:
    """Every command with the words that call it."""
    for declarations in COMMAND_TREE.values():
        for declaration in declarations:
            if isinstance(declaration, CommandDeclaration):
                yield (declaration.name,), declaration
            else:
                for command in declaration.commands:
                    yield (declaration.name, command.name), command


__all__ = ["COMMAND_TREE", "CommandDeclaration", "GroupDeclaration", "iter_commands"]
