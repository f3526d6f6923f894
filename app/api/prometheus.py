"""Metrics of operation for Prometheus: of this process, and of the database that all processes share."""

import asyncio
import ipaddress
from urllib.parse import urlsplit

from fastapi import Request
from starlette.responses import Response

from app import errors
from app.actions.access import require_administrator
from app.api.dependencies import AppStateDep, MonitoringCallerDep
from app.api.http.json_body import api_router
from app.api.http.problem_documents import TOKEN_OPTIONAL, error_responses, success_response
from app.api.limits.client_addresses import client_address
from app.api.openapi import examples
from app.runtime import telemetry

router = api_router("health", base="")

FORWARDING_HEADERS = ("forwarded", "via", "x-real-ip")  # and all that begin with x-forwarded-


@router.get(
    "/metrics",
    summary="Read the Prometheus metrics",
    response_class=Response,
    responses=success_response("The metrics, in the text format of Prometheus.", examples.PROMETHEUS_TEXT)
    | error_responses(errors.Forbidden),
    openapi_extra=TOKEN_OPTIONAL,
)
async def get_figures(request: Request, caller: MonitoringCallerDep, state: AppStateDep) -> Response:
    """Returns the metrics of this service. Requires an administrator, unless ASSAY_METRICS_ACCESS admits others."""
    access = state.settings.metrics_access
    local = access == "local" and not state.settings.trusted_proxies and is_loopback_request(request)
    allowed = access == "open" or caller.has_admin_rights or local
    if not allowed and caller.user_id is None:
        raise errors.Unauthorized(
            "The metrics require an administrator's token.",
            remedy="Send such a token. ASSAY_METRICS_ACCESS=local also admits requests to the loopback address of this machine.",
        )
    if not allowed:
        require_administrator(caller, "Only administrators may read the metrics.")
    loop, registry = asyncio.get_running_loop(), state.figures.registry
    body = await loop.run_in_executor(state.monitoring_threads, telemetry.prometheus_text, registry)
    return Response(body, media_type=telemetry.MEDIA_TYPE)


def is_loopback_request(request: Request) -> bool:
    """Whether a request came over the loopback device, for the loopback address and port at which it arrived.

    Requests that a reverse proxy on this machine forwards come over that device too. Most proxies add a header, forward
    the public Host or set one of their own, or speak HTTP/1.0. A proxy that does none of these cannot be detected,
    which is why this access is off by default.
    """
    if any(name in FORWARDING_HEADERS or name.startswith("x-forwarded-") for name in request.headers):
        return False
    if request.scope.get("http_version") == "1.0" or not _is_loopback(client_address(request)):
        return False
    url = urlsplit(f"//{request.headers.get('host', '')}")
    try:
        host, port = url.hostname or "", url.port or 80
    except ValueError:
        return False
    return port == request.scope["server"][1] and (host == "localhost" or _is_loopback(host))


def _is_loopback(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback
