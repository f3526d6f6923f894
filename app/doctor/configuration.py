"""Checks of the settings: validity, misspelled variables, and access to the service."""

import stat
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from app.actions.accounts.bootstrap import MIN_ADMIN_TOKEN_LENGTH
from app.doctor.check_declaration import SETTINGS_CHECK, CheckResult, check, ok, problem, warning
from app.doctor.installation import Installation
from app.settings import known_variables, unknown_variables
from app.text.close_matches import did_you_mean


@check(SETTINGS_CHECK, needs=(), remedy="Correct or unset the variable named above; docs/settings.md lists all.")
def check_settings(installation: Installation) -> CheckResult:
    """The settings can be read, and each value is of the right type."""
    try:
        settings = installation.read_settings()
    except Exception as error:  # noqa: BLE001 - any error means that the settings are wrong, and says why
        return problem(str(error))
    kind = "PostgreSQL" if settings.on_postgresql else "SQLite"
    return ok(f"{kind}; uploads in {settings.files_url or settings.files_dir.resolve()}.")


@check("settings.unknown", needs=(), remedy="Rename or unset it: it has no effect.")
def check_unknown_variables(installation: Installation) -> CheckResult:
    """Every ASSAY_ variable of the environment is a known setting."""
    known = known_variables()
    unknown = unknown_variables(installation.environment)
    if not unknown:
        return ok("All ASSAY_ variables are known.")
    return warning(f"Unknown: {', '.join(_with_suggestion(name, known) for name in unknown)}.")


def _with_suggestion(name: str, known: list[str]) -> str:
    return name + did_you_mean(name.upper(), known, most=1, cutoff=0.7)


@check(
    "access.admin_token",
    remedy="Put at least 32 random characters into a file that only the service's account can read, and set "
    "ASSAY_ADMIN_TOKEN_FILE to its path.",
)
def check_admin_token(installation: Installation) -> CheckResult:
    """The administrator's token exists and is long enough, and only the service's account can read its file."""
    settings = installation.settings
    if settings.admin_token is not None:
        return _check_token_length(settings.admin_token.get_secret_value(), "ASSAY_ADMIN_TOKEN")
    path = settings.admin_token_file or settings.data_dir / "admin-token"
    if not path.exists():
        if settings.admin_token_file is None:
            return ok("There is none yet; the first start creates it.")
        return problem(f"{path} does not exist.")
    result = _check_token_length(path.read_text(encoding="utf-8").strip(), str(path))
    return result if result.state == "problem" else _check_token_file_mode(path, result)


def _check_token_length(token: str, where: str) -> CheckResult:
    if len(token) < MIN_ADMIN_TOKEN_LENGTH:
        return problem(f"The token in {where} has {len(token)} characters; it needs at least {MIN_ADMIN_TOKEN_LENGTH}.")
    return ok(f"It is in {where}.")


def _check_token_file_mode(path: Path, result: CheckResult) -> CheckResult:
    mode = stat.S_IMODE(path.stat().st_mode)
    # A container engine mounts its secrets in /run/secrets for this container only; the mode does not matter there.
    if path.is_relative_to("/run/secrets") or not mode & 0o077:
        return result
    return problem(f"Other accounts can read {path} (mode {mode:o}).", f"chmod 600 {path}")


@check("access.rate_limits", remedy="Unset ASSAY_RATE_LIMITS, or set it to a limit such as 600/minute.")
def check_rate_limits(installation: Installation) -> CheckResult:
    """Requests are rate limited; without a limit, passwords can be guessed by brute force."""
    limit = installation.settings.rate_limits
    return warning("Rate limits are off.") if limit == "off" else ok(f"{limit} per user, or address without a token.")


@check(
    "access.listening",
    remedy="Listen on 127.0.0.1 behind a reverse proxy with HTTPS, and list the proxy in ASSAY_TRUSTED_PROXIES.",
)
def check_listening_address(installation: Installation) -> CheckResult:
    """The service listens on the loopback address, or behind a trusted proxy."""
    settings = installation.settings
    if _is_loopback(settings.host) or settings.trusted_proxies:
        return ok(f"It listens on {settings.host}.")
    return warning(
        f"It listens on {settings.host}, and no proxy is trusted: without a proxy that adds HTTPS, tokens are sent "
        "unencrypted; behind a proxy that is not trusted, all callers share the rate limit of a single address."
    )


@check(
    "access.public_url",
    remedy="Set ASSAY_PUBLIC_URL to the address at which people reach the service: https, and a host name of its own, such "
    "as https://assay.example.org.",
)
def check_public_address(installation: Installation) -> CheckResult:
    """People reach the pages at a host name of their own, and send passwords to them encrypted."""
    settings = installation.settings
    if not settings.public_url:
        return ok("There is no public address; people log in on pages at an address of this machine itself.")
    address = urlsplit(settings.public_url)
    if address.path.strip("/"):
        return warning(
            f"The public address has the path {address.path}; the pages work only at the root of a host name, because "
            "their links, their cookies and the check of their forms belong to the whole host. The API works under a path."
        )
    if address.scheme == "https" or _is_loopback(address.hostname or ""):
        return ok(f"People reach the pages at {settings.public_url}.")
    if settings.insecure_login:
        return warning("The public address is plain http, so passwords and sessions cross the network unencrypted.")
    return warning("The public address is plain http, so nobody can log in on pages there.")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
