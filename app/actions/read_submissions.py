"""Read submissions: their state, problems and scores, as far as the reader may see them."""

from dataclasses import dataclass
from typing import Any

from app.actions.access import (
    Caller,
    edits,
    may_read,
    organizes,
    require_membership,
    require_scope,
    see_phase,
    see_submission,
)
from app.actions.change_recipe import same_values, scoring_recipe
from app.actions.visibility import shown_split, view_for
from app.errors import NotFinished, NotFound, NotRegistered, PhaseClosed, RegistrationPending
from app.store import challenges, clock, gold, locks, paging, submissions, teams
from app.store.session import ReadSession, WriteSession
from app.store.tables import GoldVersion, Phase, Recipe, Score, ScoreTask, Submission


@dataclass(frozen=True, slots=True)
class Seen:
    """A submission as its reader sees it."""

    submission: Submission
    phase: Phase
    task: ScoreTask | None
    queue_position: int | None
    scores: dict[str, dict[str, Any]]
    splits: dict[str, dict[str, dict[str, Any]]] | None  # organizers see every split
    split: str | None
    gold_version: int | None
    recipe_version: int | None
    organizer: bool
    scored: bool  # whether there are scores in force, whoever may read them


def read_submission(session: ReadSession, caller: Caller, submission_id: str) -> Seen:
    """One submission; raises NotFound unless the caller's team owns it or the caller organizes the challenge.

    Raises InsufficientScope for a token that may not read.
    """
    found = follow_submission(session, caller, submission_id)
    require_scope(caller, "read")
    return found


def follow_submission(session: ReadSession, caller: Caller, submission_id: str) -> Seen:
    """One submission for whoever sent it: with a token that may not read, without scores; raises NotFound."""
    submission, phase, organizer = see_submission(session, caller, submission_id)
    return seen(session, caller, submission, phase, organizer=organizer)


def seen(session: ReadSession, caller: Caller, submission: Submission, phase: Phase, *, organizer: bool) -> Seen:
    """The submission with its task and the scores that this reader may see."""
    task = submissions.task_of(session, submission.id)
    version = gold.active(session, phase.id)
    recipe = challenges.active_recipe(session, phase.challenge_id)
    score_rows = _in_force(session, submission, phase, version, recipe)
    split = shown_split(phase, version) if version is not None else None
    again = submission.status not in {"queued", "running"}  # what is done to it now is to compare
    shown = _shown(score_rows, recipe, phase, organizer=organizer)
    allowed = may_read(caller) and (organizer or "scores" in phase.reports)
    return Seen(
        submission=submission,
        phase=phase,
        task=task,
        queue_position=submissions.queue_position(session, task) if task is not None and not again else None,
        scores=shown.get(split or "", {}) if allowed else {},
        splits=shown if organizer else None,
        split=split,
        gold_version=version.version if version is not None else None,
        recipe_version=recipe.version,
        organizer=organizer,
        scored=bool(score_rows),
    )


def _in_force(
    session: ReadSession, submission: Submission, phase: Phase, version: GoldVersion | None, recipe: Recipe
) -> list[Score]:
    """The scores that the board would show: of gold, recipes and scorer version in force."""
    if submission.status != "finished" or version is None:
        return []
    same = same_values(session, recipe)
    return [
        row
        for row in submissions.scores_of(session, submission.id)
        if row.gold_id == version.id and row.recipe_id in same and row.scorer_version == phase.scorer_version
    ]


def _shown(rows: list[Score], recipe: Recipe, phase: Phase, *, organizer: bool) -> dict[str, dict[str, dict[str, Any]]]:
    view = view_for(scoring_recipe(phase.challenge, recipe), organizer=organizer)
    return {row.split: view.metrics(row.metrics) for row in rows}


def list_submissions(
    session: ReadSession, caller: Caller, slug: str, phase_slug: str, *, limit: int, cursor: str | None
) -> tuple[list[Seen], str | None]:
    """A team's own submissions, newest first; organizers see all."""
    phase = see_phase(session, caller, slug, phase_slug)
    require_scope(caller, "read")
    organizer = organizes(session, caller, phase.challenge)
    team_id = None if organizer else own_team(session, caller, phase)
    rows, following = paging.page(
        session, submissions.of_phase(phase.id, team_id), Submission, limit=limit, cursor=cursor
    )
    return [seen(session, caller, row, phase, organizer=organizer) for row in rows], following


def own_team(session: ReadSession, caller: Caller, phase: Phase) -> str:
    """The id of the caller's team, barred or not: what it sent stays its own; raises NotRegistered, RegistrationPending."""
    registration = teams.registration_of(session, phase.challenge_id, require_scope(caller, "read"))
    if registration is None:
        raise NotRegistered
    if registration.status == "pending":
        raise RegistrationPending
    return registration.team_id


def select_final(session: WriteSession, caller: Caller, submission_id: str, *, selected: bool) -> Seen:
    """Mark or unmark a submission as one that shall count; for members of its team, until the phase closes.

    One that is still in the queue may be chosen too: how long scoring takes must not decide what a team may choose.
    """
    submission, phase, organizer = see_submission(session, caller, submission_id)
    locks.challenge(session, phase.challenge.slug, shared=True)
    if session.get(Phase, phase.id, populate_existing=True) is None:  # closed or deleted while this waited
        raise NotFound
    require_scope(caller, "submit")
    if not edits(session, caller, phase.challenge):
        registration = require_membership(session, caller, phase.challenge)
        if registration.team_id != submission.team_id:
            raise NotFound
        if phase.closes_at is not None and clock.now(session) >= phase.closes_at:
            raise PhaseClosed
    if submission.status in {"rejected", "failed", "cancelled"}:
        raise NotFinished(f"The submission is {submission.status}.")
    submission.selected_at = (submission.selected_at or clock.now(session)) if selected else None
    session.flush()
    return seen(session, caller, submission, phase, organizer=organizer)
