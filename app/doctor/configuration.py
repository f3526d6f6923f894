"""Checks of the settings: do they read, are any mistyped, and what they let happen."""

import stat
from difflib import get_close_matches
from ipaddress import ip_address
from pathlib import Path

from app.actions.accounts.bootstrap import MIN_ADMIN_TOKEN_LENGTH
from app.doctor.check_declaration import SETTINGS_CHECK, CheckResult, check, ok, problem, warning
from app.doctor.installation import Installation
from app.settings import known_variables, unknown_variables


@check(SETTINGS_CHECK, needs=(), remedy="Correct the variable that is named, or unset it; docs/settings.md lists all.")
def check_settings(installation: Installation) -> CheckResult:
    """The settings can be read: each value is of its kind."""
    try:
        settings = installation.read_settings()
    except Exception as fault:  # noqa: BLE001 - whatever is wrong with them is what is to be said
        return problem(str(fault))
    kind = "PostgreSQL" if settings.on_postgresql else "SQLite"
    return ok(f"{kind}; uploads in {settings.files_url or settings.files_dir.resolve()}.")


@check("settings.unknown", needs=(), remedy="Rename or unset it: nobody reads it.")
def check_unknown_variables(installation: Installation) -> CheckResult:
    """Every ASSAY_ variable of the environment is one that is read."""
    known = known_variables()
    strange = unknown_variables(installation.environment)
    if not strange:
        return ok("No ASSAY_ variable is mistyped.")
    return warning(f"Unknown: {', '.join(_with_suggestion(name, known) for name in strange)}.")


def _with_suggestion(name: str, known: list[str]) -> str:
    near = get_close_matches(name.upper(), known, n=1, cutoff=0.7)
    return f"{name} (did you mean {near[0]}?)" if near else name


@check(
    "access.admin_token",
    remedy="Put 32 random characters or more into ASSAY_ADMIN_TOKEN_FILE, a file that only the service's account reads.",
)
def check_admin_token(installation: Installation) -> CheckResult:
    """The administrator's token is there, long enough, and its file is for the service's account only."""
    settings = installation.settings
    if settings.admin_token is not None:
        return _check_token_length(settings.admin_token.get_secret_value(), "ASSAY_ADMIN_TOKEN")
    path = settings.admin_token_file or settings.data_dir / "admin-token"
    if not path.exists():
        if settings.admin_token_file is None:
            return ok("There is none yet: the first start makes it.")
        return problem(f"{path} does not exist.")
    said = _check_token_length(path.read_text(encoding="utf-8").strip(), str(path))
    return said if said.state == "problem" else _check_token_file_mode(path, said)


def _check_token_length(token: str, where: str) -> CheckResult:
    if len(token) < MIN_ADMIN_TOKEN_LENGTH:
        return problem(f"The token in {where} has {len(token)} characters; it needs at least {MIN_ADMIN_TOKEN_LENGTH}.")
    return ok(f"It is in {where}.")


def _check_token_file_mode(path: Path, said: CheckResult) -> CheckResult:
    mode = stat.S_IMODE(path.stat().st_mode)
    if path.is_relative_to("/run/secrets"):  # put there by a container engine, for this container alone
        return said
    return problem(f"Others may read {path} (mode {mode:o}).", f"chmod 600 {path}") if mode & 0o077 else said


@check("access.rate_limits", remedy="Unset ASSAY_RATE_LIMITS, or set it to something like 600/minute.")
def check_rate_limits(installation: Installation) -> CheckResult:
    """Requests are limited; without limits, passwords can be tried without end."""
    limit = installation.settings.rate_limits
    return (
        warning("Rate limits are off.") if limit == "off" else ok(f"{limit} for each user, or address without a token.")
    )


@check(
    "access.listening",
    remedy="Listen on 127.0.0.1 behind a proxy that speaks HTTPS, and name the proxy in ASSAY_TRUSTED_PROXIES.",
)
def check_listening_address(installation: Installation) -> CheckResult:
    """Who listens on an address that others reach has a proxy in front, which is named."""
    settings = installation.settings
    if _is_loopback(settings.host) or settings.trusted_proxies:
        return ok(f"It listens on {settings.host}.")
    return warning(
        f"It listens on {settings.host}, and no proxy is trusted: tokens travel in the clear unless one encrypts them, "
        "and behind one all callers share the limit of a single address."
    )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
