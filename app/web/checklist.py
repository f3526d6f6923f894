"""The checklist of a challenge: what its organizers should still do, each with the page that mends it."""

from typing import NamedTuple

from app.actions.access import Caller
from app.actions.challenges.find_open_points import OpenPoint, PointKind, find_open_points
from app.store.session import ReadSession

# What to do about each kind of point, in the words of a link.
_ACTS: dict[PointKind, str] = {
    "draft": "Publish the challenge",
    "description": "Write a description",
    "contact": "Add a contact",
    "accounts": "Decide who may register",
    "gold": "Upload the gold",
    "gold_inactive": "Activate the gold",
    "paused": "Resume the phase",
    "no_close": "Set a closing time",
    "hidden_forever": "Set a closing time",
    "quota": "Set a quota",
    "curves": "Decide what teams see",
    "inference": "Look at the recipe",
    "ladder": "Look at the phase",
    "all_closed": "Look at the phases",
    "release": "Release the private scores",
}
# Where each kind of point is mended, below the organizers' page; {phase} is the slug of the phase.
_PAGES: dict[PointKind, str] = {
    "draft": "#publish",
    "description": "/settings",
    "contact": "/settings",
    "accounts": "/settings",
    "gold": "/phases/{phase}/gold",
    "gold_inactive": "/phases/{phase}/gold",
    "paused": "/phases/{phase}",
    "no_close": "/phases/{phase}",
    "hidden_forever": "/phases/{phase}",
    "quota": "/phases/{phase}",
    "curves": "/phases/{phase}",
    "inference": "/recipe",
    "ladder": "/phases/{phase}",
    "all_closed": "/phases",
    "release": "/release",
}


class ChecklistItem(NamedTuple):
    """One thing to do or to consider, and the path of the page that mends it."""

    point: OpenPoint
    path: str

    @property
    def act(self) -> str:
        """What to do, in the words of a link."""
        return _ACTS[self.point.kind]

    @property
    def detail(self) -> str:
        """The point as a sentence."""
        return self.point.detail

    @property
    def is_blocking(self) -> bool:
        """Whether participants cannot take part, or see no result, before it is mended; otherwise it is advice."""
        return self.point.is_blocking


def challenge_checklist(session: ReadSession, caller: Caller, slug: str, *, signup: str) -> list[ChecklistItem]:
    """What the organizers of a challenge should still do, the blocking points first.

    `signup` is the setting that says who may create an account. Raises Forbidden unless the caller organizes it.
    """
    points = find_open_points(session, caller, slug, signup=signup)
    base = f"/challenges/{slug}/organize"
    return [ChecklistItem(point, base + _PAGES[point.kind].format(phase=point.phase)) for point in points]
