"""Commands that run the service, migrate its database, and create accounts and tokens directly in it."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.options import AsJson, DataDir, Email, Host, Password, Port, TokenDays, TokenName, TokenScopes
from app.cli.terminal.output import CommandError, command_output
from app.cli.terminal.prompts import prompt_password

if TYPE_CHECKING:
    from app.settings import Settings
    from app.store.session import WriteSession


SETTINGS_REMEDY = "Correct or unset the variable; docs/settings.md lists all."


def _bad_setting_error(detail: str, remedy: str = SETTINGS_REMEDY) -> CommandError:
    return CommandError("bad_setting", f"{detail}.", remedy)


def load_settings(**overrides: Any) -> "Settings":
    """The settings of the environment, with overrides from the command line."""
    from pydantic import ValidationError

    from app.settings import Settings

    try:
        settings = Settings(**{name: value for name, value in overrides.items() if value is not None})
    except ValidationError as error:
        # Names and reasons only: a value may be a secret.
        faults = "; ".join(_describe_setting_error(fault) for fault in error.errors(include_input=False))
        raise _bad_setting_error(f"Invalid setting: {faults}") from None
    try:
        _ = settings.database
    except (OSError, ValueError) as error:
        raise _bad_setting_error(f"Invalid ASSAY_DATABASE_URL_FILE: {error}") from None
    _require_database_url(settings.database)
    if settings.files_url and not settings.s3_secret_key:
        _require_readable("s3_secret_key_file", settings.s3_secret_key_file)
    return settings


def _describe_setting_error(fault: Any) -> str:
    """The variable and what is wrong with it."""
    from app.settings import Settings

    if not fault["loc"]:  # settings that conflict with each other
        return str(fault["ctx"]["error"])
    name = str(fault["loc"][0]).lower().removeprefix("assay_")
    message = fault["msg"]
    if fault["type"] == "string_pattern_mismatch":
        message = f"the format is wrong. {Settings.model_fields[name].description}".rstrip(".")
    return f"ASSAY_{name.upper()}: {message}"


def _require_readable(name: str, path: Path | None) -> None:
    """Refuse a secret's file that cannot be read; `name` is its setting."""
    try:
        if path is not None:
            path.open("rb").close()
    except OSError as error:
        raise _bad_setting_error(f"Invalid ASSAY_{name.upper()}: {path}: {error.strerror or error}") from None


def _require_database_url(address: str) -> None:
    """Refuse an invalid URL, without quoting it: part of a password with an unescaped @ would be taken for the host."""
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        valid = "@" not in (make_url(address).host or "")
    except (ArgumentError, ValueError):
        valid = False
    if not valid:
        remedy = "Use postgresql+psycopg://user:password@host:5432/name; in the password write %40 for @, %3A for :, %2F for /."
        raise _bad_setting_error("The database URL is invalid", remedy)


Workers = Annotated[int | None, typer.Option("--workers", metavar="NUMBER", min=1, help="Number of scoring processes.")]


def serve(host: Host = None, port: Port = None, data_dir: DataDir = None, workers: Workers = None) -> None:
    """Run the whole service: migrations, API and scoring."""
    with command_output(as_json=False):
        settings = load_settings(host=host, port=port, data_dir=data_dir, workers=workers)
        _require_readable("admin_token_file", settings.admin_token_file)
        with paused_garbage_collection():
            from app import main

        with explained_start_errors():
            main.serve(settings)


def api(host: Host = None, port: Port = None, data_dir: DataDir = None) -> None:
    """Run the API without scoring; any number of APIs and workers can run in parallel (PostgreSQL only)."""
    with command_output(as_json=False):
        settings = load_settings(host=host, port=port, data_dir=data_dir)
        _require_readable("admin_token_file", settings.admin_token_file)
        with paused_garbage_collection():
            from app import main
            from app.worker.worker import PostgresqlRequired

        if not settings.on_postgresql:
            raise PostgresqlRequired("An API without scoring needs PostgreSQL; on SQLite use 'assay serve'.")
        with explained_start_errors():
            main.serve(settings, scoring=False)


def worker(data_dir: DataDir = None, workers: Workers = None) -> None:
    """Score submissions; any number of workers can run in parallel (PostgreSQL only)."""
    with command_output(as_json=False):
        settings = load_settings(data_dir=data_dir, workers=workers)
        with paused_garbage_collection():
            from app.worker import worker as program

        with explained_start_errors():
            program.serve(settings)


@contextmanager
def paused_garbage_collection() -> Iterator[None]:
    """Import modules without the cyclic garbage collector, which would take a fifth of the import time and free nothing."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.freeze()


@contextmanager
def explained_start_errors() -> Iterator[None]:
    """Turn errors at start into command errors with a remedy."""
    from app.actions.accounts.bootstrap import WeakAdminToken
    from app.runtime import data_folder

    try:
        yield
    except WeakAdminToken as error:
        remedy = "Set a longer one in ASSAY_ADMIN_TOKEN or its file (ASSAY_ADMIN_TOKEN_FILE), or unset it."
        raise _bad_setting_error(str(error), remedy) from None
    except data_folder.AddressInUse as error:
        remedy = "Choose another port: --port; for a worker, ASSAY_WORKER_PORT."
        raise CommandError("address_taken", f"{error}.", remedy) from None
    except data_folder.DataFolderInUse as error:
        raise already_served_error(error) from None


def already_served_error(error: Exception) -> CommandError:
    """The error for a data folder that another service has locked."""
    detail = str(error)[:1].upper() + str(error)[1:]
    return CommandError("already_served", f"{detail}.", "Stop that service first, or use another folder: --data-dir.")


def migrate(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Migrate the database to the schema of this version."""
    with command_output(as_json=as_json) as out:
        settings = load_settings(data_dir=data_dir)
        from app.runtime import data_folder
        from app.store.migrate import upgrade

        # On SQLite the schema must not change while a service is running. On PostgreSQL a database lock ensures that only
        # one process migrates, and services of the previous version continue as far as the changes allow.
        lock = nullcontext() if settings.on_postgresql else data_folder.lock_data_folder(settings.data_dir)
        with explained_start_errors(), lock:
            before, after = upgrade(settings)
        text = f"The database is already at revision {after}." if before == after else f"Migrated to revision {after}."
        out.result({"before": before, "after": after}, lambda _: out.say(text))


@contextmanager
def write_transaction(settings: "Settings") -> Iterator["WriteSession"]:
    """A write transaction on the existing database; a mistyped folder must not create a new one."""
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
    """Refuse a missing SQLite database before the driver creates an empty file."""
    from sqlalchemy.engine import make_url

    url = make_url(settings.database)
    if url.get_backend_name() == "sqlite" and url.database and not Path(url.database).is_file():
        raise no_database_error(settings)


def no_database_error(settings: "Settings") -> CommandError:
    """The error for a missing database."""
    where = "at ASSAY_DATABASE_URL" if settings.database_url else f"in {settings.data_dir}"
    remedy = "Check --data-dir; 'assay migrate' and 'assay serve' create a database."
    return CommandError("no_database", f"There is no database {where}.", remedy)


def create_user(
    *,
    email: Email,
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Name of the person.")],
    password: Password = None,
    admin: Annotated[bool, typer.Option("--admin", help="Make the account an administrator.")] = False,
    approved: Annotated[bool, typer.Option("--approved", help="Approve it to create challenges.")] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Create an account directly in the database."""
    password = prompt_password(password, new=True)
    with command_output(as_json=as_json) as out:
        settings = load_settings(data_dir=data_dir)
        from app.actions.accounts import bootstrap

        with write_transaction(settings) as session:
            user = bootstrap.create_user(
                session, email=email, name=name, password=password, admin=admin, approved=approved
            )
            value = {key: getattr(user, key) for key in ("id", "email", "name", "admin", "approved")}
        out.result(value, lambda _: out.say(f"Created {value['email']} ({value['id']})."))


def create_token(
    *,
    email: Email,
    scope: TokenScopes = None,
    days: TokenDays = None,
    token_name: TokenName = "",
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
            raise typer.BadParameter(
                f"unknown scope {', '.join(unknown)}; use {', '.join(SCOPES)}", param_hint="--scope"
            )
        with write_transaction(settings) as session:
            row, text = bootstrap.create_token(session, email=email, scopes=scope or None, days=days, name=token_name)
            expires = row.expires_at.isoformat()
            value = {"id": row.id, "name": row.name, "token": text, "scopes": list(row.scopes), "expires_at": expires}
        out.result(value, lambda _: out.say(text))
