"""Where people reach the pages: scheme, origin and cookie names follow from ASSAY_PUBLIC_URL."""

import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.requests import Request

from app import errors
from app.settings import Settings


class InsecureAddress(errors.Forbidden):
    """This address has no encryption, so passwords are refused."""

    code = "insecure_address"
    remedy = "Open the service by https, or set ASSAY_INSECURE_LOGIN if you operate it and accept the risk."


_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Site:
    """The address of the pages, as the browser of a request sees it."""

    scheme: str
    host: str  # with the port, if it is not that of the scheme
    insecure_login: bool
    is_declared: bool = True
    """Whether ASSAY_PUBLIC_URL says it. Otherwise a request says it, by its Host header, which may be anything."""

    @property
    def origin(self) -> str:
        """The origin (RFC 6454) from which forms may come."""
        return f"{self.scheme}://{self.host}"

    @property
    def is_secure(self) -> bool:
        """Whether browsers reach the site by https, so that cookies can be restricted to it."""
        return self.scheme == "https"

    @property
    def is_certain(self) -> bool:
        """Whether a page may show the address to others, who may get it from a cache: not if only a request says it."""
        return self.is_declared or _is_loopback(_hostname(self.origin))

    @property
    def allows_login(self) -> bool:
        """Whether a password may be sent: by https, to this machine itself, or if the operator accepts the risk."""
        return self.is_secure or self.insecure_login or _is_loopback(_hostname(self.origin))

    def require_login(self) -> None:
        """Refuse to take a password; raises InsecureAddress."""
        if not self.allows_login:
            raise InsecureAddress

    def cookie_name(self, name: str) -> str:
        """The name of a cookie. Browsers take a name with __Host- only by https, from this very host."""
        return f"__Host-assay_{name}" if self.is_secure else f"assay_{name}"


def site_of(request: Request, settings: Settings) -> Site:
    """The site of a request: that of the public address, or without one the host that the request names."""
    if settings.public_url:
        address = urlsplit(settings.public_url)
        scheme, host = address.scheme, _host_with_port(address.scheme, address.hostname or "", address.port)
    else:
        scheme, host = "http", request.headers.get("host", "").lower()
    return Site(scheme, host, settings.insecure_login, bool(settings.public_url))


def _host_with_port(scheme: str, host: str, port: int | None) -> str:
    name = f"[{host}]" if ":" in host else host
    return name if port is None or port == _DEFAULT_PORTS[scheme] else f"{name}:{port}"


def _hostname(origin: str) -> str:
    """The host of an origin, without its port; empty if it is none, as a Host header may say anything."""
    try:
        return urlsplit(origin).hostname or ""
    except ValueError:
        return ""


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
