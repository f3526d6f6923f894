"""Commands of operators about the transparency log: go on with it elsewhere, or begin another one."""

from pathlib import Path
from typing import Annotated

import typer

from app.cli.options import AsJson, DataDir
from app.cli.serve import load_settings, require_database_file
from app.cli.terminal.output import command_output


def continue_log(
    checkpoint: Annotated[Path, typer.Argument(metavar="CHECKPOINT", help="File with the checkpoint served last.")],
    *,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Go on with the transparency log after a move or restore: nothing was published since this checkpoint.

    Stop the service first. Only one installation may go on with a log: two would sign two histories of it.
    """
    with command_output(as_json=as_json) as out:
        settings = load_settings(data_dir=data_dir)
        require_database_file(settings)
        from app.actions.transparency import continue_log as action
        from app.store.session import Database

        db = Database(settings)
        with db.write() as session:
            origin = action.continue_log(session, settings, checkpoint.read_text()).name
        db.close()
        out.result({"origin": origin}, lambda _: out.say(f"The log {origin} goes on here."))


def renew_log(*, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """End the transparency log and begin another one, with a new key and the present ASSAY_PUBLIC_URL.

    Its first leaf names the last checkpoint of the old one, which stays readable. Stop the service first.
    """
    with command_output(as_json=as_json) as out:
        settings = load_settings(data_dir=data_dir)
        require_database_file(settings)
        from app.actions.transparency import continue_log as action
        from app.store.session import Database

        db = Database(settings)
        with db.write() as session:
            origin = action.renew_log(session, settings).name
        db.close()
        out.result(
            {"origin": origin}, lambda _: out.say(f"A new log begins: {origin}. Publish its key: 'assay log show'.")
        )
