"""What all pages of a challenge show: its title, its tabs, and what the caller is in it."""

from dataclasses import dataclass
from typing import NamedTuple

from app.actions import access
from app.api.challenges import ChallengeShape, challenge_shape
from app.store.session import ReadSession
from app.web.page import PageContext


class Tab(NamedTuple):
    """A link to a page of a challenge."""

    name: str
    label: str
    path: str


@dataclass(frozen=True, slots=True)
class ChallengeFrame:
    """A challenge that the caller may see, and the caller's part in it."""

    challenge: ChallengeShape
    role: str | None
    """The role as an organizer: owner, editor or viewer; owner for administrators."""
    registration: str | None
    """The status of the caller's registration: pending, approved, barred or ended."""
    team_id: str | None
    by_code: bool = False
    """Whether the caller sees only what the holder of an invitation sees, to register."""

    @property
    def path(self) -> str:
        """The path of the challenge's page."""
        return f"/challenges/{self.challenge.slug}"

    @property
    def may_edit(self) -> bool:
        """Whether the caller may change the challenge."""
        return self.role in {"owner", "editor"}

    @property
    def is_member(self) -> bool:
        """Whether the caller competes in the challenge."""
        return self.registration == "approved" and self.team_id is not None

    @property
    def tabs(self) -> list[Tab]:
        """The pages that the caller can use."""
        path = self.path
        if self.by_code:
            return [Tab("register", "Take part", f"{path}/register")]
        tabs = [Tab("overview", "Overview", path), Tab("leaderboard", "Leaderboard", f"{path}/leaderboard")]
        if self.is_member or self.role is not None:
            tabs.append(Tab("submit", "Submit", f"{path}/submit"))
        if self.is_member:
            tabs.append(Tab("submissions", "My submissions", f"{path}/submissions"))
        if self.registration is not None:
            tabs.append(Tab("team", "Team", f"{path}/team"))
        elif self.role is None and self.challenge.archived_at is None:
            tabs.append(Tab("register", "Take part", f"{path}/register"))
        if self.role is not None:
            tabs.append(Tab("organize", "Organize", f"{path}/organize"))
        return tabs


def read_frame(page: PageContext, session: ReadSession, slug: str) -> ChallengeFrame:
    """The frame of a challenge; raises NotFound, and Renamed for a former slug."""
    challenge = access.load_visible_challenge(session, page.caller, slug)
    is_organizer = access.is_organizer(session, page.caller, challenge)
    role = access.organizer_role(session, page.caller, challenge) if is_organizer else None
    own = access.own_registration(session, page.caller, challenge)
    return ChallengeFrame(
        challenge_shape(session, page.caller, challenge),
        role,
        None if own is None else own.status,
        None if own is None else own.team_id,
    )


def challenge_frame(page: PageContext, slug: str) -> ChallengeFrame:
    """`read_frame` in a unit of work of its own."""
    with page.state.db.read() as session:
        return read_frame(page, session, slug)
