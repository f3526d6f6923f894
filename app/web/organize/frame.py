"""What all pages of the organizer's desk show: the challenge, its tabs, and the links between the pages."""

from dataclasses import dataclass

from app.actions.access import load_visible_challenge, require_organizer
from app.store.session import ReadSession
from app.web.challenge_frame import ChallengeFrame, Tab, read_frame
from app.web.page import PageContext

# By part of the work: the name of each page, which is the end of its path, and its label.
PAGES = {
    "Set up": {
        "": "To do",
        "settings": "Settings",
        "recipe": "Recipe",
        "phases": "Phases and gold",
        "files": "Files",
        "organizers": "Organizers",
    },
    "Run": {
        "registrations": "Registrations",
        "invitations": "Invitations",
        "teams": "Teams",
        "quota": "Quota",
        "submissions": "Submissions",
        "failures": "Failures",
        "corrections": "Corrections",
        "announcements": "Announcements",
    },
    "Finish": {
        "release": "Release",
        "audit": "Audit trail",
        "copy": "Copy, export, archive, delete",
    },
}


@dataclass(frozen=True, slots=True)
class OrganizerFrame(ChallengeFrame):
    """A challenge that the caller organizes."""

    @property
    def desk(self) -> str:
        """The path of the organizer's desk."""
        return f"{self.path}/organize"

    @property
    def desk_pages(self) -> dict[str, list[Tab]]:
        """The pages of the desk, by part of the work."""
        return {
            part: [Tab(name, label, f"{self.desk}/{name}" if name else self.desk) for name, label in pages.items()]
            for part, pages in PAGES.items()
        }

    @property
    def steps(self) -> list[Tab]:
        """The way of a draft from its recipe to a published board, one page after the other; else empty."""
        if self.challenge.status != "draft" or not self.challenge.phases:
            return []
        phase = f"{self.desk}/phases/{self.challenge.phases[0].slug}"
        return [
            Tab("recipe", "Recipe", f"{self.desk}/recipe"),
            Tab("phase", "Phase", phase),
            Tab("gold", "Gold", f"{phase}/gold"),
            Tab("settings", "Description and rules", f"{self.desk}/settings"),
            Tab("publish", "Publish", self.desk),
        ]

    def step_after(self, path: str) -> Tab | None:
        """The step that follows the page with this path; None if it is no step or the last one."""
        steps = self.steps
        paths = [step.path for step in steps]
        return steps[paths.index(path) + 1] if path in paths[:-1] else None


def read_organizer_frame(page: PageContext, session: ReadSession, slug: str) -> OrganizerFrame:
    """The frame for any organizer, also one who may only read; raises Unauthorized, Forbidden, NotFound and Renamed."""
    challenge = load_visible_challenge(session, page.caller, slug)
    require_organizer(session, page.account, challenge, writes=False)
    frame = read_frame(page, session, slug)
    return OrganizerFrame(frame.challenge, frame.role, frame.registration, frame.team_id)


def organizer_frame(page: PageContext, slug: str) -> OrganizerFrame:
    """`read_organizer_frame` in a unit of work of its own."""
    with page.state.db.read() as session:
        return read_organizer_frame(page, session, slug)
