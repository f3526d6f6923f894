"""Figures of operation for Prometheus: of this process, and of the database that all processes share."""

import ipaddress

from fastapi import Request
from starlette.responses import Response

from app import errors, figures
from app.actions.access import require_administrator
from app.api import examples
from app.api.addresses import address
from app.api.deps import CallerDep, ServiceDep
from app.api.problems import OPEN, documented, succeeds
from app.api.strict import api_router

router = api_router("health", base="")

FORWARDED = ("forwarded", "via", "x-real-ip")  # and all that begin with x-forwarded-


@router.get(
    "/metrics",
    summary="Figures for Prometheus",
    response_class=Response,
    responses=succeeds("The figures, in the text format of Prometheus.", examples.FIGURES)
    | documented(errors.Forbidden),
    openapi_extra=OPEN,
)
def get_figures(request: Request, who: CallerDep, parts: ServiceDep) -> Response:
    """For administrators, unless the service is set to show them to its own machine, or to everybody."""
    access = parts.settings.metrics_access
    allowed = access == "open" or who.rules_site or (access == "local" and from_this_machine(request))
    if not allowed and who.user_id is None:
        raise errors.Unauthorized(
            "The figures need an administrator's token.",
            remedy="Send one; ASSAY_METRICS_ACCESS=local shows them on this machine without, 'open' to everybody.",
        )
    if not allowed:
        require_administrator(who, "The figures are for administrators.")
    return Response(figures.text(parts.figures.registry), media_type=figures.MEDIA_TYPE)


def from_this_machine(request: Request) -> bool:
    """Whether a request came over the loopback device and nobody says that it is passed on for somebody else.

    A proxy on this machine that says nothing cannot be told from a caller on it: it may even set the Host header anew.
    """
    if any(name in FORWARDED or name.startswith("x-forwarded-") for name in request.headers):
        return False
    try:
        came_from = ipaddress.ip_address(address(request))
    except ValueError:
        return False
    mapped = came_from.ipv4_mapped if isinstance(came_from, ipaddress.IPv6Address) else None
    return (mapped or came_from).is_loopback
