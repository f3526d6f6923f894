"""Errors of challenges, phases, gold and recipes."""

from app.errors.branches import Conflict, InvalidContent


class SlugTaken(Conflict):
    """A challenge with this slug already exists."""

    code = "slug_taken"
    remedy = "Choose another slug."


class AlreadyImported(Conflict):
    """This phase was imported before, or its import is under way."""

    code = "already_imported"
    remedy = "Read the import that 'import' names; a phase is imported once, whichever export of it is sent."


class OwnPhase(Conflict):
    """The archive is of a phase of this installation, which is here already."""

    code = "own_phase"
    remedy = "Import it into another installation, or copy the challenge: assay challenge copy."


class PhaseNameTaken(Conflict):
    """A phase with this name already exists in this challenge."""

    code = "phase_name_taken"
    remedy = "Choose another name."


class NoOpenPhase(Conflict):
    """No phase of this challenge is open now."""

    code = "no_open_phase"
    remedy = "See opens_at and closes_at of the phases."


class NotReleasable(Conflict):
    """The private scores of this phase cannot be released now."""

    code = "not_releasable"
    remedy = "'obstacles' lists what has to happen before."


class PhaseReleased(Conflict):
    """The private scores of this phase have been released, so this can no longer change."""

    code = "phase_released"
    remedy = "A final release is final. Create a new phase if the challenge goes on."


class PhasePaused(Conflict):
    """The organizers have paused this phase, so it accepts no submissions now."""

    code = "phase_paused"
    remedy = "Wait until they resume it; the close does not move. 'reason' says why it is paused."


class PhaseInUse(Conflict):
    """Submissions exist in this phase, so it cannot be deleted."""

    code = "phase_in_use"
    remedy = "Let it close, or hide its leaderboard."


class OnlyPhase(Conflict):
    """A challenge needs at least one phase."""

    code = "only_phase"
    remedy = "Add another phase first."


class SeveralOpenPhases(Conflict):
    """Several phases are open now; name one of them."""

    code = "several_open_phases"
    remedy = "POST to /api/v1/challenges/{slug}/phases/{phase}/submissions."


class NoGold(Conflict):
    """The phase has no active gold labels yet."""

    code = "no_gold"
    remedy = "An organizer must upload and activate gold first."


class GoldNotDraft(Conflict):
    """Only a draft of the gold can be changed; this version is final."""

    code = "gold_not_draft"
    remedy = "Upload a new version."


class AlreadyInForce(Conflict):
    """This version of gold or recipe is in force, so a preview of it would change nothing."""

    code = "already_in_force"
    remedy = "Preview a draft, or a former version to switch back to."


class SwitchPending(Conflict):
    """The boards of a phase are about to switch to other versions; until then, its gold and recipe cannot change."""

    code = "switch_pending"
    remedy = "Wait until it is done, or cancel it: POST …/phases/{phase}/switches/{number}/cancel."


class SwitchEnded(Conflict):
    """The switch is done or was cancelled, so it can be neither confirmed nor cancelled."""

    code = "switch_ended"
    remedy = "Activate the former version to switch back."


class RecipeNotDraft(Conflict):
    """Only a draft or a retired version of the recipe can be activated."""

    code = "recipe_not_draft"
    remedy = "PUT the recipe again, which makes a new version."


class ReasonRequired(InvalidContent):
    """Something was submitted, so a change of its scores needs a reason, which everybody who sees the board can read."""

    code = "reason_required"
    remedy = 'Say what changes and why: {"reason": "…"}; with the command line --reason.'


class LabelRulesInUse(Conflict):
    """Something was submitted, so task, positive label and classes can no longer be changed."""

    code = "label_rules_in_use"
    remedy = "Create a new phase with the other rules."


class RecipeInUse(Conflict):
    """Scores exist for the current recipe, so its computed metrics can no longer be changed."""

    code = "recipe_in_use"
    remedy = "PUT /api/v1/challenges/{slug}/recipe makes a draft of it, which is activated with a reason."


class ChallengeInUse(Conflict):
    """Something was submitted to this challenge, so only an administrator can delete it, with its slug as confirmation."""

    code = "challenge_in_use"
    remedy = "Archive it, or have an administrator delete it, who confirms the deletion with the slug."


class ChallengeArchived(Conflict):
    """The challenge is archived, so it can only be read."""

    code = "challenge_archived"
    remedy = "An owner of the challenge can unarchive it."


class FileNameTaken(Conflict):
    """The challenge already has a file with this name."""

    code = "file_name_taken"
    remedy = "Choose another name, or delete that file first."


class TooManyFiles(Conflict):
    """The challenge has as many files as it may have."""

    code = "too_many_files"
    remedy = "Delete files that are no longer needed, or put several into one archive."


class TooManyPhases(Conflict):
    """The challenge has as many phases as it may have."""

    code = "too_many_phases"
    remedy = "Delete phases to which nothing was submitted, or begin another challenge."


class LastOwner(Conflict):
    """A challenge needs at least one owner."""

    code = "last_owner"
    remedy = "Make another organizer an owner first."


class InvalidGold(InvalidContent):
    """The gold file has problems; nothing was stored."""

    code = "invalid_gold"
    remedy = "Fix all listed problems, then upload the file again."


class InvalidRecipe(InvalidContent):
    """The recipe is not valid."""

    code = "invalid_recipe"
    remedy = "GET /api/v1/metrics lists every metric with its parameters and options."


class InvalidMetric(InvalidRecipe):
    """This metric string is not valid."""

    code = "invalid_metric"
    remedy = "GET /api/v1/metrics (or 'assay metrics') lists every metric with its parameters and options."
