"""Changes of boards for their live readers: what is reported to the cache of boards is then published to them."""

from collections.abc import Iterable

from app.actions.access import Caller
from app.actions.submissions.follow_board import FollowedBoard, follow_board
from app.api.caching.board_cache import BoardCache
from app.api.live.change_hub import ChangeHub
from app.api.live.change_stream import LIFETIME_SECONDS, Followed
from app.store.board_invalidation import is_phase_tag, is_scores_tag
from app.store.session import ReadSession


class ReportedBoards:
    """The cache of boards and the hub as one: a reader is told only once the cache holds nothing older."""

    def __init__(self, boards: BoardCache, hub: ChangeHub) -> None:
        self.boards = boards
        self.hub = hub

    def invalidate(self, tags: frozenset[str]) -> None:
        """Boards with these tags have changed."""
        self.boards.invalidate(tags)
        self.hub.publish_tags(tags)

    def confirm(self, at: float) -> None:
        """All changes until this time were reported."""
        self.boards.confirm(at)

    def distrust(self) -> None:
        """Changes may be missed until the next `confirm`."""
        self.boards.distrust()

    def forget(self) -> None:
        """Changes may have been missed."""
        self.boards.forget()
        self.hub.publish_all()


def link_scores(hub: ChangeHub, tags: Iterable[str]) -> None:
    """Tell the readers of a phase of new scores too; which ones its boards show changes with the gold.

    `tags` are those of a board that was built just now.
    """
    tags = [*tags]
    phases = [tag for tag in tags if is_phase_tag(tag)]
    for scores in filter(is_scores_tag, tags):
        for phase in phases:
            hub.link(scores, phase)


def follow(
    session: ReadSession, hub: ChangeHub, caller: Caller, slug: str, phase: str
) -> tuple[FollowedBoard, Followed]:
    """What this caller follows of a board, as the action and as its stream know it; raises NotFound, InsufficientScope."""
    board = follow_board(session, caller, slug, phase)
    link_scores(hub, board.tags)
    # With the clock of a test, which may jump, a stream would end at once.
    seconds = min(board.seconds or LIFETIME_SECONDS, LIFETIME_SECONDS)
    return board, Followed(board.tags, board.state, seconds, ends_after_change=not board.is_shown)
