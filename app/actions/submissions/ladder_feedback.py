"""What participants are told of their submissions while the Ladder limits feedback."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.actions.challenges.change_recipe import parse_stored_recipe
from app.actions.submissions.ladder_board import describe_feedback
from app.actions.submissions.ladders import LadderStep, PhaseLadders, ladder_in_force, read_ladders
from app.actions.submissions.score_visibility import ScoreView
from app.store.queries import challenges
from app.store.queries.board_versions import active_version
from app.store.queries.submission_details import SubmissionDetails
from app.store.session import ReadSession
from app.store.tables import Phase


@dataclass(frozen=True, slots=True)
class LadderFeedback:
    """The Ladder of a phase, and what it told after one submission.

    `improved`: whether the submission was better than the team's best so far by more than the step; None while that is
    not told. `waiting`: it is withheld until all earlier submissions of the team have their final status.
    """

    step: float | str
    meaning: str
    improved: bool | None
    waiting: bool
    scores: dict[str, dict[str, Any]]

    def without_outputs(self) -> "LadderFeedback":
        """The same for a reader who may not see scores: whether a file improved follows from its value."""
        return replace(self, improved=None, scores={})


def ladder_feedback(
    session: ReadSession, submissions: Sequence[SubmissionDetails], view: ScoreView
) -> dict[str, LadderFeedback]:
    """What the Ladder told after these submissions of one phase, by id; nothing for a reader who is shown scores."""
    context = submissions[0].context if submissions else None
    if context is None or view.organizer or not context.recipe.get("ladder"):
        return {}
    phase = session.get_one(Phase, context.phase_id)
    stored = challenges.active_recipe(session, phase)
    recipe = parse_stored_recipe(phase, stored)
    rule, described = ladder_in_force(recipe, phase.released_at, organizer=False), describe_feedback(recipe)
    if rule is None or described is None:
        return {}
    of = active_version(session, phase)
    teams = {each.submission.team_id for each in submissions}
    ladders = None if of is None else read_ladders(session, phase, of, teams)
    steps = {} if ladders is None else ladders.steps
    return {
        each.submission.id: _feedback(each, steps.get(each.submission.id), ladders, view, described)
        for each in submissions
    }


def _feedback(
    details: SubmissionDetails,
    step: LadderStep | None,
    ladders: PhaseLadders | None,
    view: ScoreView,
    described: dict[str, Any],
) -> LadderFeedback:
    finished = details.submission.status == "finished" and step is not None and step.entry.key is not None
    output = step.output if step is not None and finished else None
    if ladders is None or output is None:
        return LadderFeedback(**described, improved=None, waiting=finished, scores={})
    scores = view.told(ladders.primary, output.value)
    return LadderFeedback(**described, improved=output.released, waiting=False, scores=scores)
