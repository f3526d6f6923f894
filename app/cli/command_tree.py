"""The tree of all commands: name, one-line help and example of each, and the function that runs it.

The functions are named, not imported: a command imports its own module alone (`app.cli.command_loading`), and the help
of the tree imports none.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple


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


_EXAMPLE_SUBMISSION_ID = "019a3c5e7b1f7d04a2c98e6f50b1d327"

COMMAND_TREE: Mapping[str, tuple[CommandDeclaration | GroupDeclaration, ...]] = {
    "Score on this machine": (
        CommandDeclaration(
            "score",
            "score.score",
            "Score predictions against a gold file on this machine, with the same scorer as the service.",
            "assay score --gold gold.jsonl --predictions mine.json --metric f1_macro",
        ),
        CommandDeclaration(
            "what-if",
            "what_if.what_if",
            "Show what changed predictions would cost or gain, or the scores at another share of positive instances.",
            "assay what-if --gold gold.jsonl --predictions mine.json --share 0.05 --target-label cat",
        ),
        CommandDeclaration(
            "convert",
            "convert.convert",
            "Find all counts that fit published figures, or prove that there are none.",
            "assay convert --n 1000 --positives 120 --precision 0.81 --recall 0.74 --f1 0.77",
        ),
        CommandDeclaration(
            "metrics",
            "metrics.metrics",
            "List the metrics, or explain one: its equation, parameters, options, source and a worked example.",
            "assay metrics f1_macro",
        ),
    ),
    "Take part": (
        CommandDeclaration(
            "signup",
            "account.signup",
            "Create an account and log in with it.",
            'assay signup --email ada@example.org --name "Ada"',
        ),
        CommandDeclaration(
            "login",
            "account.login",
            "Log in to a service: create a token from e-mail address and password, or use an existing one; it is "
            "remembered.",
            "assay login --url https://assay.example.org",
        ),
        CommandDeclaration(
            "logout",
            "account.logout",
            "Revoke the stored token of the last login, and delete it.",
            "assay logout",
        ),
        CommandDeclaration(
            "register",
            "participant.register",
            "Register for a challenge by creating a team.",
            'assay register digits --team "Linear"',
        ),
        CommandDeclaration(
            "template",
            "participant.template",
            "Get a file to fill in, with every id that a submission needs.",
            "assay template digits --format csv -o mine.csv",
        ),
        CommandDeclaration(
            "validate",
            "participant.validate",
            "Check predictions without submitting them: by the service, or offline with --ids and --classes.",
            "assay validate digits -f mine.json",
        ),
        CommandDeclaration(
            "submit",
            "participant.submit",
            "Submit predictions.",
            'assay submit digits -f mine.json -m "SVM, bigrams" --wait',
        ),
        CommandDeclaration(
            "submissions",
            "participant.submissions",
            "List your team's submissions in a phase (for organizers: all submissions).",
            "assay submissions digits",
        ),
        CommandDeclaration(
            "submission",
            "participant.submission",
            "Show a submission: status, scores, problems.",
            f"assay submission {_EXAMPLE_SUBMISSION_ID}",
        ),
        CommandDeclaration(
            "select",
            "participant.select",
            "Select a finished submission for the final standing.",
            f"assay select {_EXAMPLE_SUBMISSION_ID}",
        ),
        CommandDeclaration(
            "unselect",
            "participant.unselect",
            "Undo the selection of a submission for the final standing.",
            f"assay unselect {_EXAMPLE_SUBMISSION_ID}",
        ),
        CommandDeclaration(
            "cancel",
            "participant.cancel",
            "Cancel a queued submission.",
            f"assay cancel {_EXAMPLE_SUBMISSION_ID}",
        ),
        CommandDeclaration(
            "quota",
            "participant.quota",
            "Show your team's quota in a phase: limits, used and remaining.",
            "assay quota digits",
        ),
        CommandDeclaration(
            "leaderboard",
            "participant.leaderboard",
            "Show the leaderboard of a phase, best first.",
            "assay leaderboard digits --csv",
        ),
    ),
    "Organize": (
        CommandDeclaration(
            "rerun",
            "rerun.rerun",
            "Score a phase's finished submissions again and report differences; stored scores are not changed.",
            "assay rerun digits --phase main --wait",
        ),
        GroupDeclaration(
            "challenge",
            "List and show challenges; for organizers: create, edit and publish them.",
            (
                CommandDeclaration(
                    "list",
                    "participant.list_challenges",
                    "List the challenges that are visible to you.",
                    "assay challenge list",
                ),
                CommandDeclaration(
                    "show",
                    "participant.show_challenge",
                    "Show a challenge: task, metrics, selection, tie-breakers, and phases with quota and classes.",
                    "assay challenge show digits",
                ),
                CommandDeclaration(
                    "create",
                    "organizer.create_challenge",
                    "Create a challenge from its description.",
                    "assay challenge create -f challenge.yaml",
                ),
                CommandDeclaration(
                    "edit",
                    "organizer.edit_challenge",
                    "Change a challenge to match a file: the full description, or only the parts that change.",
                    "assay challenge edit digits -f changes.yaml",
                ),
                CommandDeclaration(
                    "publish",
                    "organizer.publish_challenge",
                    "Publish a draft; its visibility then determines who can see it.",
                    "assay challenge publish digits",
                ),
            ),
        ),
        GroupDeclaration(
            "gold",
            "Manage the gold labels of a phase.",
            (
                CommandDeclaration(
                    "upload",
                    "organizer.upload_gold",
                    "Upload the gold labels of a phase as a new version.",
                    "assay gold upload digits -f gold.jsonl.gz",
                ),
                CommandDeclaration(
                    "list",
                    "organizer.list_gold",
                    "List the versions of a phase's gold, newest first.",
                    "assay gold list digits",
                ),
                CommandDeclaration(
                    "activate",
                    "organizer.activate_gold",
                    "Activate a draft of the gold.",
                    "assay gold activate digits 1",
                ),
            ),
        ),
    ),
    "Run the service": (
        CommandDeclaration(
            "serve",
            "serve.serve",
            "Run the whole service: migrations, API and scoring.",
            "assay serve --port 8000 --data-dir ./assay-data",
        ),
        CommandDeclaration(
            "demo",
            "demo.demo",
            "Run a service with a real challenge and five scored systems, and print its leaderboard.",
            "assay demo",
        ),
        CommandDeclaration(
            "api",
            "serve.api",
            "Run the API without scoring; any number of APIs and workers can run in parallel (PostgreSQL only).",
            "assay api --port 8000",
        ),
        CommandDeclaration(
            "worker",
            "serve.worker",
            "Score submissions; any number of workers can run in parallel (PostgreSQL only).",
            "assay worker --workers 2",
        ),
        CommandDeclaration(
            "doctor",
            "doctor.doctor",
            "Check an installation and suggest remedies; without --repair it changes nothing.",
            "assay doctor --data-dir ./assay-data",
        ),
        CommandDeclaration(
            "migrate",
            "serve.migrate",
            "Migrate the database to the schema of this version.",
            "assay migrate --data-dir ./assay-data",
        ),
        CommandDeclaration(
            "backup",
            "backup.backup",
            "Copy the database and all uploads into a folder, while the service is running.",
            "assay backup backups/2026-01-31 --data-dir ./assay-data",
        ),
        CommandDeclaration(
            "restore",
            "backup.restore",
            "Restore a backup into an empty installation, on SQLite or PostgreSQL, with uploads in a folder or a bucket.",
            "assay restore backups/2026-01-31 --data-dir ./new-data",
        ),
        GroupDeclaration(
            "user",
            "Create accounts directly in the database.",
            (
                CommandDeclaration(
                    "create",
                    "serve.create_user",
                    "Create an account directly in the database.",
                    'assay user create --email ada@example.org --name "Ada" --approved',
                ),
            ),
        ),
        GroupDeclaration(
            "token",
            "Create tokens directly in the database.",
            (
                CommandDeclaration(
                    "create",
                    "serve.create_token",
                    "Create a token for an account directly in the database, and print it.",
                    "assay token create --email ada@example.org --days 30",
                ),
            ),
        ),
    ),
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
