"""Commands of whoever runs the service: serve, migrate, and accounts made beside the API."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.options import AsJson, DataDir, Email, Host, Password, Port
from app.cli.terminal.output import CommandError, command_output
from app.cli.terminal.prompts import prompt_password

if TYPE_CHECKING:
    from app.settings import Settings
    from app.store.session import WriteSession


SETTINGS_REMEDY = "Correct the variable that is named, or unset it; docs/settings.md lists all."


def load_settings(**given: Any) -> "Settings":
    """The settings of the environment, overridden by what was given on the command line."""
    from pydantic import ValidationError

    from app.settings import Settings

    try:
        settings = Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        # Names and reasons only: a value may be a secret.
        faults = "; ".join(_describe_setting_error(fault) for fault in error.errors(include_input=False))
        raise CommandError("bad_setting", f"A setting is wrong: {faults}.", SETTINGS_REMEDY) from None
    try:
        _ = settings.database
    except (OSError, ValueError) as error:
        raise CommandError("bad_setting", f"ASSAY_DATABASE_URL_FILE is wrong: {error}.", SETTINGS_REMEDY) from None
    _require_database_url(settings.database)
    if settings.files_url and not settings.s3_secret_key:
        _require_readable("s3_secret_key_file", settings.s3_secret_key_file)
    return settings


def _describe_setting_error(fault: Any) -> str:
    """One fault of the settings: the variable, and what is wrong with it."""
    from app.settings import Settings

    if not fault["loc"]:  # several settings that do not go together
        return str(fault["ctx"]["error"])
    name = str(fault["loc"][0]).lower().removeprefix("assay_")
    said = fault["msg"]
    if fault["type"] == "string_pattern_mismatch":
        said = f"it is not of the form wanted. {Settings.model_fields[name].description}".rstrip(".")
    return f"ASSAY_{name.upper()}: {said}"


def _require_readable(name: str, path: Path | None) -> None:
    """Refuse a file of a secret that cannot be read, by the name of its setting."""
    try:
        if path is not None:
            path.open("rb").close()
    except OSError as error:
        detail = f"ASSAY_{name.upper()} is wrong: {path}: {error.strerror or error}."
        raise CommandError("bad_setting", detail, SETTINGS_REMEDY) from None


def _require_database_url(address: str) -> None:
    """Refuse what is no URL, without a word of it: a part of the password may stand where the host should."""
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        sound = "@" not in (make_url(address).host or "")
    except (ArgumentError, ValueError):
        sound = False
    if not sound:
        raise CommandError(
            "bad_setting",
            "The URL of the database cannot be read.",
            "Write postgresql+psycopg://user:password@host:5432/name; in the password %40 stands for @, %3A for :, %2F for /.",
        )


Workers = Annotated[int | None, typer.Option("--workers", metavar="NUMBER", min=1, help="Number of scoring processes.")]


def serve(host: Host = None, port: Port = None, data_dir: DataDir = None, workers: Workers = None) -> None:
    """Run everything in one process tree: migrations, API, scoring."""
    with command_output(as_json=False):
        settings = load_settings(host=host, port=port, data_dir=data_dir, workers=workers)
        _require_readable("admin_token_file", settings.admin_token_file)
        with paused_garbage_collection():
            from app import main

        with explained_start_errors():
            main.serve(settings)


def api(host: Host = None, port: Port = None, data_dir: DataDir = None) -> None:
    """Run the API alone, beside others and workers (PostgreSQL)."""
    with command_output(as_json=False):
        settings = load_settings(host=host, port=port, data_dir=data_dir)
        _require_readable("admin_token_file", settings.admin_token_file)
        with paused_garbage_collection():
            from app import main
            from app.worker.worker import PostgresqlRequired

        if not settings.on_postgresql:
            raise PostgresqlRequired(
                "An API without scoring needs PostgreSQL and workers; on SQLite 'assay serve' does it all."
            )
        with explained_start_errors():
            main.serve(settings, scoring=False)


def worker(data_dir: DataDir = None, workers: Workers = None) -> None:
    """Score what is submitted, beside any number of other workers (PostgreSQL)."""
    with command_output(as_json=False):
        settings = load_settings(data_dir=data_dir, workers=workers)
        with paused_garbage_collection():
            from app.worker import worker as program

        with explained_start_errors():
            program.serve(settings)


@contextmanager
def paused_garbage_collection() -> Iterator[None]:
    """Load programs without the cyclic collector: what they load stays, and searching it takes a fifth of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.freeze()


@contextmanager
def explained_start_errors() -> Iterator[None]:
    """Say in a sentence why a program cannot start."""
    from app.actions.accounts.bootstrap import WeakAdminToken
    from app.runtime import data_folder

    try:
        yield
    except WeakAdminToken as error:
        raise CommandError(
            "bad_setting",
            f"{error}.",
            "Put a longer one into ASSAY_ADMIN_TOKEN or its file (ASSAY_ADMIN_TOKEN_FILE), or unset it.",
        ) from None
    except data_folder.AddressInUse as error:
        remedy = "Take another port: --port, for a worker's own ASSAY_WORKER_PORT."
        raise CommandError("address_taken", f"{error}.", remedy) from None
    except data_folder.DataFolderInUse as error:
        raise already_served_error(error) from None


def already_served_error(error: Exception) -> CommandError:
    """The refusal to use a data folder that another service holds."""
    detail = str(error)[:1].upper() + str(error)[1:]
    return CommandError("already_served", f"{detail}.", "End that one first, or take another: --data-dir.")


def migrate(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Bring the database to the schema of this version."""
    with command_output(as_json=as_json) as out:
        settings = load_settings(data_dir=data_dir)
        from app.runtime import data_folder
        from app.store.migrate import upgrade

        # On SQLite the schema must not change under a service at work; on PostgreSQL a lock of the database sees to it
        # that one migrates, and services of the earlier version go on as far as its changes let them.
        alone = nullcontext() if settings.on_postgresql else data_folder.lock_data_folder(settings.data_dir)
        with explained_start_errors(), alone:
            before, after = upgrade(settings)
        text = f"The database is at revision {after} already." if before == after else f"Migrated to revision {after}."
        out.result({"before": before, "after": after}, lambda _: out.say(text))


@contextmanager
def _write_transaction(settings: "Settings") -> Iterator["WriteSession"]:
    """A transaction on the database of the settings, which has to be there: a mistyped folder is not to become one."""
    from app.store.migrate import current_revision, require_head
    from app.store.session import Database

    require_database_file(settings)
    database = Database(settings)
    try:
        if current_revision(database.engine()) is None:
            raise no_database_error(settings)
        require_head(database.engine())
        with database.write() as session:
            yield session
    finally:
        database.close()


def require_database_file(settings: "Settings") -> None:
    """Refuse before SQLite would make an empty file."""
    from sqlalchemy.engine import make_url

    url = make_url(settings.database)
    if url.get_backend_name() == "sqlite" and url.database and not Path(url.database).is_file():
        raise no_database_error(settings)


def no_database_error(settings: "Settings") -> CommandError:
    """The refusal where a database has to be there."""
    where = "at ASSAY_DATABASE_URL" if settings.database_url else f"in {settings.data_dir}"
    remedy = "Check --data-dir; 'assay migrate' makes a database, and so does 'assay serve'."
    return CommandError("no_database", f"There is no database {where}.", remedy)


def create_user(
    *,
    email: Email,
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Name of the person.")],
    password: Password = None,
    admin: Annotated[bool, typer.Option("--admin", help="An administrator.")] = False,
    approved: Annotated[
        bool, typer.Option("--approved", help="May create challenges where that needs approval.")
    ] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Create an account directly in the database."""
    word = prompt_password(password, new=True)
    with command_output(as_json=as_json) as out:
        settings = load_settings(data_dir=data_dir)
        from app.actions.accounts import bootstrap

        with _write_transaction(settings) as session:
            user = bootstrap.create_user(session, email=email, name=name, password=word, admin=admin, approved=approved)
            made = {key: getattr(user, key) for key in ("id", "email", "name", "admin", "approved")}
        out.result(made, lambda _: out.say(f"Created {made['email']} ({made['id']})."))


def create_token(
    email: Email,
    scope: Annotated[
        list[str] | None,
        typer.Option(
            "--scope", metavar="SCOPE", help="read, submit, organize or admin; repeat it (default: by account)."
        ),
    ] = None,
    days: Annotated[
        int | None, typer.Option("--days", metavar="DAYS", min=1, help="Days that it is valid (default: 90).")
    ] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Create a token for an account directly in the database, and print it."""
    with command_output(as_json=as_json) as out:
        settings = load_settings(data_dir=data_dir)
        from app.actions.access import SCOPES
        from app.actions.accounts import bootstrap

        unknown = sorted(set(scope or ()) - set(SCOPES))
        if unknown:
            raise typer.BadParameter(f"unknown scope {', '.join(unknown)}; there are {', '.join(SCOPES)}")
        with _write_transaction(settings) as session:
            row, text = bootstrap.create_token(session, email=email, scopes=scope or None, days=days)
            expires = row.expires_at.isoformat()
            made = {"id": row.id, "token": text, "scopes": list(row.scopes), "expires_at": expires}
        out.result(made, lambda _: out.say(text))
