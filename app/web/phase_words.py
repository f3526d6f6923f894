"""The rules of a phase in words: its state, its quota, who sees its board, and what happens to late files."""

from datetime import datetime

from app.api.phases import PhaseShape, Quota
from app.web.formatting import counted

BOARD_WORDS = {
    "public": "Everybody sees it.",
    "hidden": "Only organizers see it.",
    "after_close": "It is shown after the close, once all files are scored.",
}
LATE_WORDS = {
    "refuse": "Late files are refused.",
    "unofficial": "Late files are scored as unofficial entries, which have no rank.",
}
NO_LIMIT = "No limit."


def phase_state(phase: PhaseShape, now: datetime, *, archived: bool) -> str:
    """What a phase is now: 'coming', 'open', 'paused', 'late' (closed, but it takes unofficial entries) or 'closed'."""
    if archived:
        return "closed"
    if now < phase.opens_at:
        return "coming"
    if phase.closes_at is not None and now >= phase.closes_at:
        return "late" if phase.late == "unofficial" and phase.paused_at is None else "closed"
    return "open" if phase.paused_at is None else "paused"


STATE_WORDS = {
    "coming": "not open yet",
    "open": "open",
    "paused": "paused",
    "late": "closed, takes unofficial entries",
    "closed": "closed",
}


def quota_sentences(quota: Quota) -> list[str]:
    """The limits of a team, one sentence each."""
    limits = (
        (quota.per_day, "1 submission a day", "{n} submissions a day"),
        (quota.total, "1 submission in all", "{n} submissions in all"),
        (quota.concurrent, "1 submission at a time", "{n} submissions at a time"),
        (quota.invalid_per_day, "1 rejected file a day", "{n} rejected files a day"),
    )
    return [str(counted(limit, f"{one}.", f"{many}.")) for limit, one, many in limits if limit is not None]


def phase_to_enter(phases: list[PhaseShape], now: datetime, *, archived: bool) -> PhaseShape | None:
    """The phase that instructions are about: the open one that closes first, else the next, else the last."""
    states = {phase.slug: phase_state(phase, now, archived=archived) for phase in phases}
    running = [phase for phase in phases if states[phase.slug] in {"open", "paused"}]
    if running:
        return min(running, key=lambda phase: (phase.closes_at is None, phase.closes_at or now))
    coming = [phase for phase in phases if states[phase.slug] == "coming"]
    if coming:
        return min(coming, key=lambda phase: phase.opens_at)
    return phases[-1] if phases else None
