"""Errors of submissions, quotas and leaderboards."""

from app.errors.branches import Conflict, Forbidden, Gone, InvalidContent, NotFound, TooManyRequests


class LeaderboardHidden(Forbidden):
    """The leaderboard is currently hidden."""

    code = "leaderboard_hidden"
    remedy = "See 'leaderboard' of the phase: 'hidden' never shows it, 'after_close' once it is closed and scored."


class SplitHidden(Forbidden):
    """Participants and visitors cannot see this split now."""

    code = "split_hidden"
    remedy = "Omit ?split= to read the split that is visible now."


class ReceiptHidden(Forbidden):
    """Participants and visitors cannot have this receipt now, because its scores are hidden."""

    code = "receipt_hidden"
    remedy = "Organizers can read it. After the final release the receipts of the shown scores are readable."


class ReceiptNotIssued(NotFound):
    """These scores have no receipt: they may be older than receipts, which the service then issues in the background."""

    code = "no_receipt"
    remedy = "Try again in a few minutes, or ask for another ?split= or ?gold_version=."


class OpeningUnavailable(Conflict):
    """The commitment to this gold version cannot be computed, because the version is being changed."""

    code = "opening_unavailable"
    remedy = "Repeat the request."


class NoSuchBoard(NotFound):
    """The phase never had such a board."""

    code = "no_such_board"
    remedy = "Read '…/leaderboard/history': it names the versions that were in force, and since when."


class TooMuchHistory(Conflict):
    """The phase has too many submissions to compute its former boards."""

    code = "too_much_history"
    remedy = "Read the present board, or a frozen one."


class NotFreezable(Conflict):
    """The board cannot be frozen now."""

    code = "not_freezable"
    remedy = "Try again once nothing of this is in the way any more."


class AlreadyFrozen(Conflict):
    """The newest frozen board of the phase has the same content."""

    code = "already_frozen"
    remedy = "Cite the frozen board 'number'; freeze again once the board has changed."


class PhaseClosed(Conflict):
    """The phase has closed, so the selection of submissions is final."""

    code = "phase_closed"
    remedy = "Only organizers can still change it."


class SubmissionNotFinished(Conflict):
    """A submission that ended without scores cannot be selected."""

    code = "not_finished"
    remedy = "Select a submission that is finished or not scored yet."


class NotSelectable(Conflict):
    """This submission cannot count, so it cannot be selected."""

    code = "not_selectable"
    remedy = "Select another submission of the team."


class SelectionFull(Conflict):
    """The team has selected as many submissions as it may."""

    code = "selection_full"
    remedy = "Unselect one of those in 'selected' first."


class OnNoBoard(Conflict):
    """No board shows this submission, so there is nothing to withdraw or disqualify."""

    code = "on_no_board"
    remedy = "Nothing more is needed: it takes part in nothing. A queued submission can be cancelled instead."


class NotATestEntry(Conflict):
    """Only test entries of organizers can be deleted."""

    code = "not_a_test_entry"
    remedy = "Withdraw or disqualify the submission instead: it leaves the ranking and stays on record."


class FileDeleted(Gone):
    """The file of this submission was deleted: files of rejected and cancelled submissions are kept for some days."""

    code = "file_deleted"
    remedy = "The submission still shows its problems and the SHA-256 of the file; send a corrected file."


class RequestInFlight(Conflict):
    """A request with this Idempotency-Key is still in progress."""

    code = "request_in_flight"
    remedy = "Wait for its reply, or repeat the request a little later."


class IdempotencyMismatch(InvalidContent):
    """This Idempotency-Key was already used for another request."""

    code = "idempotency_mismatch"
    remedy = "Use a new key for a new request."


class NoSuchLimit(Conflict):
    """The phase has no such limit, so it cannot be changed for one team."""

    code = "no_such_limit"
    remedy = "Grant what the quota of the phase limits, or set the limit for all teams by editing the phase."


class QuotaExceeded(TooManyRequests):
    """The team has used up its quota."""

    code = "quota_exceeded"
    remedy = (
        "'quota' names the limit. Wait until 'reset_at' or for a running submission; only organizers can raise a total."
    )
