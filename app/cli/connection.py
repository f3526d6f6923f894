"""The address and token of a command: from its options, else from the credentials file that a login writes."""

import contextlib
import json
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.cli.terminal.output import CommandError, CommandOutput

if TYPE_CHECKING:
    from app.client import Client

DEFAULT_URL = "http://127.0.0.1:8000"


def credentials_path() -> Path:
    """$XDG_CONFIG_HOME/assay/credentials, else ~/.config/assay/credentials."""
    base = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    # The XDG specification requires relative paths to be ignored.
    return (base if base.is_absolute() else Path.home() / ".config") / "assay" / "credentials"


def _read_credentials() -> dict[str, Any]:
    path = credentials_path()
    try:
        content = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {"tokens": {}}
    except ValueError:
        content = None
    if not isinstance(content, dict) or not isinstance(content.get("tokens"), dict):
        detail = f"{path} is not a credentials file written by 'assay login'."
        raise CommandError("bad_credentials", detail, "Delete the file and log in again: assay login.")
    return content


def is_readable_by_others() -> bool:
    """Whether the group or others can access the credentials file."""
    try:
        mode = credentials_path().stat().st_mode
    except FileNotFoundError:
        return False
    return bool(stat.S_IMODE(mode) & 0o077)


def resolve_url_and_token(url: str | None, token: str | None) -> tuple[str, str | None]:
    """The address and token to use: those given, else those of the last login, else the local service without a token.

    A stored token is sent only to the address that it was created for.
    """
    if url and token:
        return normalize_url(url), token
    credentials = _read_credentials()
    address = normalize_url(url or str(credentials.get("url") or DEFAULT_URL))
    return address, token or credentials["tokens"].get(address)


def normalize_url(url: str) -> str:
    """The address without trailing slash and /api/v1, as it is stored."""
    return url.strip().rstrip("/").removesuffix("/api/v1")


def remember_token(url: str, token: str) -> Path:
    """Store a token for an address, and make the address the default."""
    credentials = _read_credentials()
    credentials["url"] = normalize_url(url)
    credentials["tokens"][normalize_url(url)] = token
    return _write_credentials(credentials)


def forget_token(url: str) -> None:
    """Delete the stored token of an address; the address remains the default."""
    credentials = _read_credentials()
    if credentials["tokens"].pop(normalize_url(url), None) is not None:
        _write_credentials(credentials)


def _write_credentials(credentials: dict[str, Any]) -> Path:
    """Replace the credentials file atomically, with mode 600."""
    path = credentials_path()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".credentials-")  # creates it with mode 600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(credentials, stream, indent=2)
            stream.write("\n")
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(temporary).unlink()
        raise
    return path


@contextmanager
def connect_client(out: CommandOutput, url: str | None, token: str | None) -> Iterator["Client"]:
    """A client of the service that the options, the environment or the last login name."""
    from app.client import Client

    address, resolved = resolve_url_and_token(url, token)
    if resolved is not None and resolved != token and is_readable_by_others():
        out.note(f"Warning: other accounts can read {credentials_path()}; run chmod 600 on it.")
    with Client(address, resolved) as client:
        yield client
