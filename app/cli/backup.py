"""Commands that keep what the service holds: backup and restore."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.options import AsJson, DataDir
from app.cli.serve import explained_start_errors, load_settings, no_database_error, require_database_file
from app.cli.terminal.output import EXIT_FAILED, CommandOutput, command_output

if TYPE_CHECKING:
    from app.actions.operations.backup_folder import Manifest
    from app.settings import Settings

KeysFileToWrite = Annotated[
    Path | None,
    typer.Option("--keys", metavar="FILE", help="Write the administrator's token to this file, outside the backup."),
]
KeysFileToRead = Annotated[
    Path | None, typer.Option("--keys", metavar="FILE", help="The file that 'assay backup --keys' made beside it.")
]
NewBackupFolder = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="Folder to make; it must be empty or not there.")
]
ExistingBackupFolder = Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder that 'assay backup' made.")]


def backup(
    folder: NewBackupFolder, keys: KeysFileToWrite = None, data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """Copy the database and all uploads into a folder, while the service is at work.

    Gold labels, submissions and hashes of passwords and tokens are in it: keep it as carefully as the service. Exit
    status 1 with a backup made means that stored files were missing or damaged; they are named.
    """
    with command_output(as_json=as_json) as out, _private_umask():
        settings = load_settings(data_dir=data_dir)
        require_database_file(settings)
        from app.actions.operations import backup_keys

        found = None
        if keys is not None:
            found = backup_keys.collect_keys(settings)
            backup_keys.require_valid_keys_path(keys, folder)
        manifest = _run_backup(settings, folder, out)
        if keys is not None and found is not None:
            backup_keys.write_keys_file(keys, found)
        made = {"folder": str(folder), "keys": None if keys is None else str(keys), **manifest.model_dump(mode="json")}
        out.result(made, lambda _: out.say(f"Backed up to {folder}: {_describe_contents(manifest)}."))
        _note_keys_file(out, settings, keys)
        for each in manifest.lost:
            out.note(f"Not in the backup: {each.key} of {each.owner}, which is {each.fault}.")
        if manifest.lost:
            raise typer.Exit(EXIT_FAILED)


def restore(
    folder: ExistingBackupFolder, keys: KeysFileToRead = None, data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """Put a backup into an empty installation, on SQLite or PostgreSQL, with uploads in a folder or a bucket.

    Everything is checked before anything is written. If it is cut short, do it again.
    """
    with command_output(as_json=as_json) as out, _private_umask(), ExitStack() as held:
        settings = load_settings(data_dir=data_dir)
        from app.actions.operations import backup_keys
        from app.actions.operations import restore as action
        from app.runtime import data_folder
        from app.scoring.declaration.metric_syntax import pluralize

        given = {} if keys is None else backup_keys.read_keys_file(keys)
        with out.upload_bar("Checking the backup", then="Checked") as progress:
            whole = held.enter_context(action.verified_backup(settings, folder, progress))
        with explained_start_errors(), data_folder.own_process_folder(settings) as work:
            files = data_folder.open_file_store(settings, work)
            with out.upload_bar("Restoring the files", then="Restoring the database") as progress:
                waiting = action.restore(settings, files, whole, given, progress)
        manifest = whole.manifest
        result = {"waiting": waiting, "keys": sorted(given), **manifest.model_dump(mode="json")}
        then = f"{pluralize(waiting, 'submission')} to be scored still. Start the service."
        out.result(result, lambda _: out.say(f"Restored {_describe_contents(manifest)}. {then}"))
        for each in manifest.lost:
            out.note(f"It was not in the backup: {each.key} of {each.owner}, which was {each.fault}.")


@contextmanager
def _private_umask() -> Iterator[None]:
    """What is made while the block lasts is for this account only."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def _run_backup(settings: "Settings", folder: Path, out: CommandOutput) -> "Manifest":
    from app.actions.operations.back_up import back_up
    from app.runtime import data_folder
    from app.store.migrate import current_revision
    from app.store.session import Database

    db = Database(settings)
    uncached = settings.model_copy(update={"files_cache": 0})  # each file is wanted once
    try:
        if current_revision(db.engine()) is None:
            raise no_database_error(settings)
        with (
            tempfile.TemporaryDirectory(prefix="assay-backup-") as work,
            out.upload_bar("Backing up", then="Finishing") as progress,
        ):
            return back_up(settings, db, data_folder.open_file_store(uncached, Path(work)), folder, progress)
    finally:
        db.close()


def _note_keys_file(out: CommandOutput, settings: "Settings", keys: Path | None) -> None:
    """Say where the keys are, for they are not in the backup."""
    from app.actions.operations.backup_keys import KEY_FILENAMES

    if keys is not None:
        out.note(f"The administrator's token is in {keys}: keep it apart from the backup.")
    elif any((settings.data_dir / name).exists() for name in KEY_FILENAMES):
        out.note("The administrator's token is not in the backup; --keys FILE writes it to a file of its own.")


def _describe_contents(manifest: "Manifest") -> str:
    from rich.filesize import decimal

    from app.scoring.declaration.metric_syntax import pluralize

    numbers = manifest.counts
    challenges, submissions = numbers.get("challenges", 0), numbers.get("submissions", 0)
    parts = (
        pluralize(challenges, "challenge"),
        pluralize(submissions, "submission"),
        pluralize(manifest.files, "file"),
    )
    return f"{', '.join(parts)} ({decimal(manifest.bytes)})"
