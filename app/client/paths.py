"""Paths of the REST API."""

from urllib.parse import quote

from app.transport import Json


def api_path(*parts: str) -> str:
    """The path of a resource below /api/v1."""
    return "/api/v1/" + "/".join(quote(part, safe="") for part in parts)


def phase_path(slug: str, phase: str, *parts: str) -> str:
    """The path of a resource of a phase."""
    return api_path("challenges", slug, "phases", phase, *parts)


def submissions_path(slug: str, phase: str | None) -> str:
    """Without a phase the service uses the one that is open."""
    return api_path("challenges", slug, "submissions") if phase is None else phase_path(slug, phase, "submissions")


def phase_slug(phase: Json) -> str:
    """The slug of a phase as the service describes it."""
    return str(phase.get("slug") or phase.get("name"))
