"""The commands backup and restore."""

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

KeysOutput = Annotated[
    Path | None,
    typer.Option(
        "--keys",
        metavar="FILE",
        help="Also write the administrator's token to this file, which must be outside the backup.",
    ),
]
KeysInput = Annotated[
    Path | None, typer.Option("--keys", metavar="FILE", help="File that 'assay backup --keys' wrote with this backup.")
]
LogCheckpointInput = Annotated[
    Path | None,
    typer.Option(
        "--continue-log",
        metavar="CHECKPOINT",
        help="File with the checkpoint that the service served last: the log goes on, if its key is in place.",
    ),
]
NewBackupFolder = Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder to write; must be empty or not exist.")]
ExistingBackupFolder = Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder that 'assay backup' wrote.")]


def backup(folder: NewBackupFolder, keys: KeysOutput = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Copy the database and all uploads into a folder, while the service is running.

    The backup contains gold labels, submissions, and hashes of passwords and tokens: protect it like the service itself.
    Stored files that are missing or damaged are listed and left out; the exit status is then 1.
    """
    with command_output(as_json=as_json) as out, _private_umask():
        settings = load_settings(data_dir=data_dir)
        require_database_file(settings)
        from app.actions.operations import backup_keys

        secrets = None
        if keys is not None:
            secrets = backup_keys.collect_keys(settings)
            backup_keys.require_valid_keys_path(keys, folder)
        manifest = _run_backup(settings, folder, out)
        if keys is not None and secrets is not None:
            backup_keys.write_keys_file(keys, secrets)
        value = {"folder": str(folder), "keys": None if keys is None else str(keys), **manifest.model_dump(mode="json")}
        out.result(value, lambda _: out.say(f"Backed up to {folder}: {_describe_contents(manifest)}."))
        _note_keys_file(out, settings, keys)
        for lost_file in manifest.lost:
            out.note(f"Not in the backup: {lost_file.key} of {lost_file.owner}, which is {lost_file.fault}.")
        if manifest.lost:
            raise typer.Exit(EXIT_FAILED)


def restore(
    folder: ExistingBackupFolder,
    keys: KeysInput = None,
    continue_log: LogCheckpointInput = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Restore a backup into an empty installation, on SQLite or PostgreSQL, with uploads in a folder or a bucket.

    The transparency log goes on as a new one, whose first leaf names the last checkpoint of the backup, unless
    --continue-log shows that nothing was published since the backup.

    The backup is verified before anything is written. If a restore is interrupted, run it again.
    """
    with command_output(as_json=as_json) as out, _private_umask(), ExitStack() as stack:
        settings = load_settings(data_dir=data_dir)
        from app.actions.operations import backup_keys
        from app.actions.operations import restore as action
        from app.runtime import data_folder
        from app.scoring.declaration.metric_syntax import pluralize

        secrets = {} if keys is None else backup_keys.read_keys_file(keys)
        served = None if continue_log is None else continue_log.read_text()
        with out.upload_bar("Verifying the backup", final_label="Verified") as progress:
            verified = stack.enter_context(action.verified_backup(settings, folder, progress))
        with explained_start_errors(), data_folder.own_process_folder(settings) as work:
            files = data_folder.open_file_store(settings, work)
            with out.upload_bar("Restoring the files", final_label="Restoring the database") as progress:
                waiting = action.restore(settings, files, verified, secrets, progress, served_checkpoint=served)
        manifest = verified.manifest
        value = {"waiting": waiting, "keys": sorted(secrets), **manifest.model_dump(mode="json")}
        next_step = f"Still to be scored: {pluralize(waiting, 'submission')}. Start the service."
        out.result(value, lambda _: out.say(f"Restored {_describe_contents(manifest)}. {next_step}"))
        for lost_file in manifest.lost:
            out.note(f"Not in the backup: {lost_file.key} of {lost_file.owner}, which was {lost_file.fault}.")


@contextmanager
def _private_umask() -> Iterator[None]:
    """Files created within the block are accessible to this account only."""
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
    settings_without_cache = settings.model_copy(update={"files_cache": 0})  # each file is read only once
    try:
        if current_revision(db.engine()) is None:
            raise no_database_error(settings)
        with (
            tempfile.TemporaryDirectory(prefix="assay-backup-") as work,
            out.upload_bar("Backing up", final_label="Finishing") as progress,
        ):
            return back_up(
                settings, db, data_folder.open_file_store(settings_without_cache, Path(work)), folder, progress
            )
    finally:
        db.close()


def _note_keys_file(out: CommandOutput, settings: "Settings", keys: Path | None) -> None:
    """Report where the administrator's token is, as it is not in the backup."""
    from app.actions.operations.backup_keys import KEY_FILENAMES

    if keys is not None:
        out.note(f"The administrator's token is in {keys}: store it separately from the backup.")
    elif any((settings.data_dir / name).exists() for name in KEY_FILENAMES):
        out.note("The administrator's token is not in the backup; use --keys FILE to write it to a separate file.")


def _describe_contents(manifest: "Manifest") -> str:
    from rich.filesize import decimal

    from app.scoring.declaration.metric_syntax import pluralize

    rows = [pluralize(manifest.counts.get(f"{name}s", 0), name) for name in ("challenge", "submission")]
    return f"{', '.join(rows)}, {pluralize(manifest.files, 'file')} ({decimal(manifest.bytes)})"
