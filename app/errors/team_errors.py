"""Errors of teams and registrations."""

from app.errors.branches import Conflict, Forbidden, InvalidContent


class NotRegistered(Forbidden):
    """Only members of a registered team may do this."""

    code = "not_registered"
    remedy = 'Register first: POST /api/v1/challenges/{slug}/registrations with {"team": "Name"}.'


class RegistrationPending(Forbidden):
    """The registration is waiting for an organizer's approval."""

    code = "registration_pending"
    remedy = "Wait until an organizer approves the team."


class RegistrationBarred(Forbidden):
    """The organizers have barred you from this challenge."""

    code = "registration_barred"
    remedy = "Ask the organizers; the reason is in the registration."


class TeamNameTaken(Conflict):
    """A team with this name already exists in this challenge."""

    code = "team_name_taken"
    remedy = "Choose another name."


class AlreadyRegistered(Conflict):
    """You are already registered for this challenge."""

    code = "already_registered"
    remedy = "GET /api/v1/challenges/{slug}/registrations shows your team."


class NoTeam(Forbidden):
    """You are registered for this challenge but in no team."""

    code = "no_team"
    remedy = (
        'Found one: POST /api/v1/challenges/{slug}/registrations with {"team": "Name"}; or join one: {"invitation": '
        "code}, with a code from its captain."
    )


class NotCaptain(Forbidden):
    """Only the captain of this team may do this."""

    code = "not_captain"
    remedy = "Ask the captain, who is named in GET /api/v1/challenges/{slug}/teams, or the organizers."


class SubmissionOfFormerTeam(Forbidden):
    """This submission belongs to a team that you have left."""

    code = "submission_of_former_team"
    remedy = "A present member of the team can do this."


class InvalidInvitation(InvalidContent):
    """This invitation does not exist here, has expired, or was used or revoked."""

    code = "invalid_invitation"
    remedy = "Check that the code is complete, and ask who gave it to you for a new one."


class TeamFull(Conflict):
    """The team would have more members than this challenge allows."""

    code = "team_full"
    remedy = (
        "A member has to leave first; 'team_size_limit' of the challenge is the limit, which organizers can change."
    )


class TooManyInvitations(Conflict):
    """The team has as many open invitations as it may have."""

    code = "too_many_invitations"
    remedy = "Revoke codes that nobody will use, or wait until some are used or expire."


class BoundToTeam(Conflict):
    """You left a team that had used quota, so you may not found or join another one."""

    code = "bound_to_team"
    remedy = (
        "Ask the organizers for permission to join another team, or the team's captain for an invitation to return."
    )


class BaselineHasNoMembers(Conflict):
    """This is a name for baselines of organizers; it has no members, captain or invitations."""

    code = "baseline_has_no_members"
    remedy = "Name a team."


class MergeTooLate(Conflict):
    """The deadline for merging teams has passed."""

    code = "merge_too_late"
    remedy = "Only the organizers can move 'merge_deadline' of the challenge."


class MergeExceedsQuota(Conflict):
    """Together the teams have made more submissions than one team could have made so far."""

    code = "merge_exceeds_quota"
    remedy = "Try again on a later day of the phase, or ask the organizers for a grant to one of the teams."


class TeamCannotMerge(Conflict):
    """A team that is disqualified or without a captain who can act cannot merge."""

    code = "team_cannot_merge"
    remedy = "Ask the organizers."


class NoMergeProposal(Conflict):
    """There is no open proposal to merge this team with that one."""

    code = "no_merge_proposal"
    remedy = "GET /api/v1/challenges/{slug}/teams lists the open proposals of your team."


class TeamDisqualified(Forbidden):
    """The organizers have disqualified this team, so it cannot submit."""

    code = "team_disqualified"
    remedy = "Ask the organizers, who can reinstate the team; 'reason' says why it is disqualified."


class BaselineTeam(Conflict):
    """This is a name for baselines, which take no part in the ranking."""

    code = "baseline_team"
    remedy = "Withdraw the submission of the baseline instead: a withdrawn baseline leaves the board."


class MayHaveReadGold(Forbidden):
    """You organize or organized this challenge or a copy of it, so you may have read its gold and cannot take part."""

    code = "may_have_read_gold"
    remedy = "Organizers try their challenge with test entries, test=true, and enter baselines."


class RegistrationEnded(Conflict):
    """The user has ended this registration."""

    code = "registration_ended"
    remedy = "The user can register again."


class StillRegistered(Conflict):
    """This user is registered for the challenge, and so may not read its gold."""

    code = "still_registered"
    remedy = "The user must end the registration first: DELETE /api/v1/challenges/{slug}/registrations/{id}."


class RegistrationNeedsCode(Forbidden):
    """Only users whom the organizers invited can register for this challenge."""

    code = "registration_needs_code"
    remedy = 'Ask the organizers for a code, and send {"invitation": code, "team": "Name"}; then teams can invite you.'
