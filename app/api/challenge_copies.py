"""Archive, unarchive and copy challenges."""

from typing import Annotated

from fastapi import Depends
from pydantic import Field

from app import errors
from app.actions.access import Caller
from app.actions.challenges.archive_challenge import archive_challenge, unarchive_challenge
from app.actions.challenges.copy_challenge import (
    GoldReplaced,
    copied_files,
    copy_challenge,
    gold_files_to_copy,
)
from app.api.challenges import ChallengeShape, challenge_shape
from app.api.dependencies import AccountDep, AppStateDep, ReasonQuery
from app.api.field_types import Body, GivenMoment, Name, Slug, request_example
from app.api.http.json_body import api_router
from app.api.http.problem_documents import error_responses
from app.api.reasons import NO_REASON, OptionalReason

router = api_router("challenges", prefix="/challenges/{slug}")


class NewCopy(Body):
    """The copy to make."""

    model_config = request_example(slug="pets-2028", title="Cats and dogs 2028", opens_at="2028-02-01T12:00")

    slug: Slug
    title: Name | None = Field(None, description="Default: that of the original.")
    gold: bool = Field(
        False,
        description="Copy the active gold too. Whoever organizes or organized either challenge can then register in "
        "neither.",
    )
    opens_at: GivenMoment | None = Field(
        None, description="When the first phase opens; all windows move with it. Default: they stay."
    )


def current_copier(slug: str, caller: AccountDep, state: AppStateDep) -> Caller:
    """The caller, if they may copy the challenge, so that a lack of rights is reported before a faulty body."""
    with state.db.read() as session:
        gold_files_to_copy(session, caller, slug, creation=state.settings.challenge_creation, with_gold=False)
    return caller


@router.post(
    "/archive",
    summary="Archive a challenge",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.InvalidRequest),
)
def post_archive(slug: str, caller: AccountDep, state: AppStateDep, body: OptionalReason = NO_REASON) -> ChallengeShape:
    """Makes a challenge read-only and leaves it out of the usual list. Requires the role `owner`.

    Until it is unarchived, nobody registers, submits or changes anything, organizers included: `challenge_archived`.
    What was submitted before is still scored; boards, reports and files stay readable. `warnings` names phases that
    have not closed, and private scores that have not been released.
    """
    with state.db.write() as session:
        challenge, warnings = archive_challenge(session, caller.with_reason(body.reason), slug)
        shape = challenge_shape(session, caller, challenge)
    return shape.model_copy(update={"warnings": warnings})


@router.post(
    "/unarchive",
    summary="Unarchive a challenge",
    responses=error_responses(errors.Forbidden, errors.NotFound, errors.InvalidRequest),
)
def post_unarchive(
    slug: str, caller: AccountDep, state: AppStateDep, body: OptionalReason = NO_REASON
) -> ChallengeShape:
    """Lets an archived challenge go on. Requires the role `owner`. Phases that have closed stay closed."""
    with state.db.write() as session:
        return challenge_shape(session, caller, unarchive_challenge(session, caller.with_reason(body.reason), slug))


@router.post(
    "/copy",
    status_code=201,
    summary="Copy a challenge as a draft",
    responses=error_responses(
        errors.Forbidden,
        errors.NotFound,
        errors.SlugTaken,
        GoldReplaced,
        errors.InvalidRequest,
        errors.StorageAlmostFull,
    ),
)
def post_copy(
    slug: str,
    body: NewCopy,
    caller: Annotated[Caller, Depends(current_copier)],
    state: AppStateDep,
    reason: ReasonQuery = None,
) -> ChallengeShape:
    """Creates a draft with the description, recipes, phases, terms, registration fields and contact of a challenge.

    Requires a role in the challenge, and the right to create challenges; you become the owner. Teams, submissions,
    announcements, files and other organizers are not copied. With `gold`, the active gold of each phase is copied and
    active. A phase that would be closed in the copy opens at once and does not close; `warnings` names it.
    """
    creation = state.settings.challenge_creation
    with state.db.read() as session:
        originals = gold_files_to_copy(session, caller, slug, creation=creation, with_gold=body.gold)
    with copied_files(state.files, originals) as keys, state.db.write() as session:
        challenge, warnings = copy_challenge(
            session,
            caller.with_reason(reason),
            slug,
            creation=creation,
            signup=state.settings.signup,
            fields={"slug": body.slug, "title": body.title, "opens_at": body.opens_at},
            gold_keys=keys if body.gold else None,
            queue=state.queue,
        )
        shape = challenge_shape(session, caller, challenge)
    return shape.model_copy(update={"warnings": warnings})
