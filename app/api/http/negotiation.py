"""Content negotiation: the encodings that a client accepts, and the versions that it already has."""

from functools import lru_cache


@lru_cache(maxsize=256)
def prefers_gzip(header: str) -> bool:
    """Whether an Accept-Encoding header ranks gzip no lower than plain bytes (RFC 9110, section 12.5.3).

    A client that accepts nothing gets plain bytes.
    """
    weights: dict[str, float] = {}
    for part in header.lower().split(","):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        name = "gzip" if name == "x-gzip" else name
        weights[name] = max(_quality_value(parameters), weights.get(name, 0.0))
    others = weights.get("*", 0.0)
    gzip = weights.get("gzip", others)
    return gzip > 0 and gzip >= weights.get("identity", others)


def _quality_value(parameters: list[str]) -> float:
    """The weight from 0 to 1; 0 for a malformed weight, 1 without one."""
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() != "q":
            continue
        whole, _, fraction = value.strip().partition(".")
        if whole not in {"0", "1"} or (fraction and not (fraction.isascii() and fraction.isdigit())):
            return 0.0
        return min(float(f"{whole}.{fraction[:3] or 0}"), 1.0)
    return 1.0


def matches_etag(if_none_match: str | None, tag: str) -> bool:
    """Whether an If-None-Match header names this tag, by the weak comparison that RFC 9110 prescribes for it."""
    if if_none_match is None:
        return False
    tags = [part.strip().removeprefix("W/") for part in if_none_match.split(",")]
    return "*" in tags or tag in tags
