"""Previews of board switches: a worker has them scored at low priority, and compares the boards once that is done."""

from collections.abc import Callable
from functools import partial

from app.actions.scoring_tasks.score_submission import WorkerContext
from app.actions.versions import compute_previews
from app.store.locks import try_maintenance
from app.worker.spaced_looks import SpacedLooks

PREVIEW_SECONDS = 0.5  # a small preview takes about a second


class Previewer:
    """Brings the previews forward that organizers asked for."""

    def __init__(
        self, context: WorkerContext, wake_rescorer: Callable[[], None], has_ended: Callable[[], bool]
    ) -> None:
        self._context = context
        self._wake_rescorer = wake_rescorer
        self._has_ended = has_ended
        self._looks = SpacedLooks()

    def advance(self) -> None:
        """A periodic job: add the tasks that a preview needs, and finish those that are settled."""
        with self._context.db.read() as session:
            previews = compute_previews.previews_in_progress(session)
        self._looks.keep(previews)
        for preview_id in previews:
            self._looks.look(preview_id, partial(self._advance, preview_id))

    def _advance(self, preview_id: str) -> bool:
        """Whether there was anything to do."""
        db, queue = self._context.db, self._context.queue
        with db.read() as session:
            state = compute_previews.preview_state(session, preview_id)
        if state == "settled":
            compute_previews.finish_preview(db, preview_id)
        while state == "tasks are missing" and not self._has_ended():
            with db.write() as session:
                # One worker at a time: two would find the same submissions without a task.
                if not try_maintenance(session) or not compute_previews.add_preview_tasks(session, queue, preview_id):
                    break
        self._wake_rescorer()
        return state != "waiting"
