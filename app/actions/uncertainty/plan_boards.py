"""Queue the comparisons of boards whose rows may have changed."""

from collections.abc import Iterator

from app.actions.challenges.change_recipe import parse_stored_recipe
from app.actions.submissions.score_visibility import visible_split
from app.store.analysis_tables import RANKINGS, SIGNIFICANCE
from app.store.queries import analysis_tasks, board_analyses, challenges, gold
from app.store.session import ReadSession, WriteSession
from app.store.tables import GoldVersion, Phase

MAX_CHANGES = 500  # that are read at once
ALL_METRICS = ""  # the metric of rankings side by side, which compare all


def has_changes(session: ReadSession) -> bool:
    """Whether any board may have changed since its comparison was queued."""
    return bool(analysis_tasks.changes(session, 1))


def plan_boards(session: WriteSession) -> int:
    """Queue the comparisons of changed boards, and forget these changes; returns how many changes there were.

    A change that is committed later has a row of its own, so none is lost: a comparison reads the rows of its board
    after this transaction.
    """
    seen = analysis_tasks.changes(session, MAX_CHANGES)
    tags = {tag for change in seen for tag in change.tags}
    phases = board_analyses.phases_with_tags(session, tags)
    analysis_tasks.lock_of_boards(session, [phase.id for phase in phases])  # in the order of a deletion: no deadlock
    for phase in phases:
        version = gold.active(session, phase.id)
        if version is not None:
            for kind, split, metric in wanted_comparisons(session, phase, version):
                analysis_tasks.request_board(session, phase.id, kind, split, metric)
    analysis_tasks.forget_changes(session, seen)
    return len(seen)


def splits_of(version: GoldVersion) -> tuple[str, ...]:
    """The splits that scores are kept for."""
    return ("public", "private", "all") if version.has_splits else ("all",)


def is_compared(phase: Phase, version: GoldVersion, *, split: str, metric: str, primary: str) -> bool:
    """Whether the board of a split is compared by a metric: by the primary one always, by others where all see it."""
    return metric == primary or split == visible_split(phase, version)


def wanted_comparisons(session: ReadSession, phase: Phase, version: GoldVersion) -> Iterator[tuple[str, str, str]]:
    """Kind, split and metric of each comparison of a phase, what most readers look at first."""
    recipe = parse_stored_recipe(phase, challenges.active_recipe(session, phase))
    shown = visible_split(phase, version)
    for split in sorted(splits_of(version), key=lambda each: each != shown):
        yield SIGNIFICANCE, split, recipe.primary
        yield RANKINGS, split, ALL_METRICS
        for call in recipe.metrics:
            wanted = is_compared(phase, version, split=split, metric=call.text, primary=recipe.primary)
            if wanted and call.text != recipe.primary:
                yield SIGNIFICANCE, split, call.text
