"""Which service a command talks to and as whom: what is given, else what the last login kept."""

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
    base = os.environ.get("XDG_CONFIG_HOME", "")
    # The XDG specification says that a relative path is to be ignored.
    root = Path(base) if Path(base).is_absolute() else Path.home() / ".config"
    return root / "assay" / "credentials"


def _read_credentials() -> dict[str, Any]:
    path = credentials_path()
    try:
        content = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {"tokens": {}}
    except ValueError:
        raise _bad_credentials_error(path) from None
    if not isinstance(content, dict) or not isinstance(content.get("tokens"), dict):
        raise _bad_credentials_error(path)
    return content


def _bad_credentials_error(path: Path) -> CommandError:
    return CommandError(
        "bad_credentials",
        f"{path} is not the JSON object that 'assay login' writes.",
        "Remove the file and log in again: assay login.",
    )


def is_readable_by_others() -> bool:
    """True when the credentials file is open to the group or to others."""
    try:
        mode = credentials_path().stat().st_mode
    except FileNotFoundError:
        return False
    return bool(stat.S_IMODE(mode) & 0o077)


def resolve_url_and_token(url: str | None, token: str | None) -> tuple[str, str | None]:
    """The address and token to use: what is given, else what the last login kept, else the local service.

    A kept token is sent only to the address that it was made for.
    """
    if url and token:
        return normalize_url(url), token
    kept = _read_credentials()
    address = normalize_url(url or str(kept.get("url") or DEFAULT_URL))
    return address, token or kept["tokens"].get(address)


def normalize_url(url: str) -> str:
    """One spelling per address: no slash and no /api/v1 at its end."""
    return url.strip().rstrip("/").removesuffix("/api/v1")


def remember_token(url: str, token: str) -> Path:
    """Keep a token for an address and make that the default."""
    kept = _read_credentials()
    kept["url"] = normalize_url(url)
    kept["tokens"][normalize_url(url)] = token
    return _write_credentials(kept)


def forget_token(url: str) -> None:
    """Drop the token that is kept for an address; the address stays the default."""
    kept = _read_credentials()
    if kept["tokens"].pop(normalize_url(url), None) is not None:
        _write_credentials(kept)


def _write_credentials(kept: dict[str, Any]) -> Path:
    """Replace the credentials file whole, with mode 600."""
    path = credentials_path()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".credentials-")  # made with mode 600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(kept, stream, indent=2)
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

    address, key = resolve_url_and_token(url, token)
    if key is not None and key != token and is_readable_by_others():
        out.note(f"Warning: others can read {credentials_path()}; close it with chmod 600.")
    with Client(address, key) as client:
        yield client
