"""The hierarchy of errors: each leaf has a stable code, an HTTP status and a remedy.

    AssayError
    ├── Unauthorized          401  no valid token
    ├── Forbidden             403  visible but not allowed
    ├── NotFound              404  missing, or hidden from this caller (the reply is the same)
    ├── BadRequest            400  an invalid header or parameter
    ├── Conflict              409  the current state does not allow it
    ├── TooSlow               408  the body stopped arriving
    ├── TooLarge              413  more bytes than allowed
    ├── UnsupportedMedia      415  an unsupported media type or encoding
    ├── InvalidContent        422  the content is invalid
    ├── TooManyRequests       429  quota or rate limit
    └── Unavailable           503  low disk space, database unavailable, overload

The docstring of a leaf is its default message, so documentation and message are always the same.
"""

from collections.abc import Mapping
from typing import Any, ClassVar


class AssayError(Exception):
    """Something went wrong."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal_error"
    remedy: ClassVar[str] = "Try again later; if the problem persists, contact the administrator."

    def __init__(
        self,
        detail: str | None = None,
        *,
        remedy: str | None = None,
        headers: Mapping[str, str] | None = None,
        **extra: Any,
    ) -> None:
        self.detail = detail or " ".join((type(self).__doc__ or "").split())
        self.advice = remedy or self.remedy
        self.headers = dict(headers or {})
        self.extra = extra
        super().__init__(self.detail)


# ---- 401 and 403: authentication and permissions -----------------------------------------------


class Unauthorized(AssayError):
    """A valid token is required."""

    status = 401
    code = "unauthorized"
    remedy = "Send 'Authorization: Bearer <token>'; POST /api/v1/tokens creates a token."


class WrongPassword(Unauthorized):
    """The e-mail address or the password is wrong."""

    code = "wrong_password"
    remedy = "Check both; passwords are case-sensitive."


class Forbidden(AssayError):
    """You do not have permission to do this."""

    status = 403
    code = "forbidden"
    remedy = "Ask an organizer of the challenge, or use the token of an account with that permission."


class InsufficientScope(Forbidden):
    """The token lacks a required scope."""

    code = "insufficient_scope"
    remedy = "Create a token with the scope named in the message."


class NotRegistered(Forbidden):
    """Only members of a registered team may do this."""

    code = "not_registered"
    remedy = 'Register first: POST /api/v1/challenges/{slug}/registrations with {"team": "Name"}.'


class RegistrationPending(Forbidden):
    """The registration is waiting for an organizer's approval."""

    code = "registration_pending"
    remedy = "Wait until an organizer approves the team."


class RegistrationBarred(Forbidden):
    """An organizer has barred this team."""

    code = "registration_barred"
    remedy = "Ask the organizers; the reason is in the registration."


class LeaderboardHidden(Forbidden):
    """The leaderboard is currently hidden."""

    code = "leaderboard_hidden"
    remedy = "See 'leaderboard' of the phase: 'hidden' never shows it, 'after_close' once it is closed and scored."


class SplitHidden(Forbidden):
    """Participants and visitors cannot see this split now."""

    code = "split_hidden"
    remedy = "Omit ?split= to read the split that is visible now."


class SignupClosed(Forbidden):
    """This site does not allow self-service sign-up."""

    code = "signup_closed"
    remedy = "Ask the administrator for an account."


# ---- 404 --------------------------------------------------------------------------------------


class NotFound(AssayError):
    """There is nothing here that you may see."""

    status = 404
    code = "not_found"
    remedy = "Check the address; if the object exists, it is not visible with this token."


# ---- 400 --------------------------------------------------------------------------------------


class BadRequest(AssayError):
    """A header or parameter of the request is invalid."""

    status = 400
    code = "bad_request"
    remedy = "Correct the parameter named in the message."


class BadCursor(BadRequest):
    """This cursor does not belong to this list."""

    code = "bad_cursor"
    remedy = "Start from the first page, without ?cursor=."


# ---- 409 --------------------------------------------------------------------------------------


class Conflict(AssayError):
    """The current state does not allow this."""

    status = 409
    code = "conflict"
    remedy = "Read the object again, then decide what to change."


class SlugTaken(Conflict):
    """A challenge with this slug already exists."""

    code = "slug_taken"
    remedy = "Choose another slug."


class EmailTaken(Conflict):
    """An account with this e-mail address already exists."""

    code = "email_taken"
    remedy = "Log in with this account: POST /api/v1/tokens."


class TeamNameTaken(Conflict):
    """A team with this name already exists in this challenge."""

    code = "team_name_taken"
    remedy = "Choose another name."


class AlreadyRegistered(Conflict):
    """You are already registered for this challenge."""

    code = "already_registered"
    remedy = "GET /api/v1/challenges/{slug}/registrations shows your team."


class PhaseNameTaken(Conflict):
    """A phase with this name already exists in this challenge."""

    code = "phase_name_taken"
    remedy = "Choose another name."


class NoOpenPhase(Conflict):
    """No phase of this challenge is open now."""

    code = "no_open_phase"
    remedy = "See opens_at and closes_at of the phases."


class PhaseClosed(Conflict):
    """The phase has closed, so the selection of submissions is final."""

    code = "phase_closed"
    remedy = "Only organizers can still change it."


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


class GoldAlreadyActive(Conflict):
    """The phase already has active gold; replacing it is not supported yet."""

    code = "gold_active"
    remedy = "Create a new phase for other gold labels."


class RecipeInUse(Conflict):
    """Scores exist for the current recipe, so its computed metrics can no longer be changed."""

    code = "recipe_in_use"
    remedy = "Change only selection, tie_breakers or disclosure, or create a new challenge."


class ChallengeNotDraft(Conflict):
    """Only a draft challenge can be deleted."""

    code = "not_draft"
    remedy = "A published challenge cannot be deleted; set its visibility to private to hide it."


class LastOwner(Conflict):
    """A challenge needs at least one owner."""

    code = "last_owner"
    remedy = "Make another organizer an owner first."


class SubmissionNotFinished(Conflict):
    """A submission that ended without scores cannot be selected."""

    code = "not_finished"
    remedy = "Select a submission that is finished or not scored yet."


class RequestInFlight(Conflict):
    """A request with this Idempotency-Key is still in progress."""

    code = "request_in_flight"
    remedy = "Wait for its reply, or repeat the request a little later."


# ---- 408 --------------------------------------------------------------------------------------


class TooSlow(AssayError):
    """The request body stopped arriving."""

    status = 408
    code = "too_slow"
    remedy = "Send the request again; an Idempotency-Key makes that safe."


# ---- 413, 415, 422 ----------------------------------------------------------------------------


class TooLarge(AssayError):
    """The request body is larger than allowed."""

    status = 413
    code = "too_large"
    remedy = "Compress the file (gzip), or ask the administrator to raise ASSAY_MAX_UPLOAD."


class UnsupportedMedia(AssayError):
    """This media type or content encoding is not supported."""

    status = 415
    code = "unsupported_media_type"
    remedy = "Send application/json, application/x-ndjson or text/csv, plain or with Content-Encoding: gzip."


class InvalidContent(AssayError):
    """The content is not valid."""

    status = 422
    code = "invalid_content"
    remedy = "Correct what the message names, then send it again."


class InvalidRequest(InvalidContent):
    """The request body does not match the documented schema."""

    code = "invalid_request"
    remedy = "Compare the body with the example in /docs; 'errors' lists each fault."


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


class IdempotencyMismatch(InvalidContent):
    """This Idempotency-Key was already used for another request."""

    code = "idempotency_mismatch"
    remedy = "Use a new key for a new request."


# ---- 429 and 503 ------------------------------------------------------------------------------


class TooManyRequests(AssayError):
    """Too many requests."""

    status = 429
    code = "rate_limited"
    remedy = "Wait for the time in Retry-After."


class QuotaExceeded(TooManyRequests):
    """The team has used up its quota."""

    code = "quota_exceeded"
    remedy = (
        "'quota' names the limit. Wait until 'reset_at' or for a running submission; only organizers can raise a total."
    )


class Unavailable(AssayError):
    """The service cannot do this now."""

    status = 503
    code = "unavailable"
    remedy = "Repeat the request after the time in Retry-After; an Idempotency-Key makes that safe."

    def __init__(self, detail: str | None = None, **kwargs: Any) -> None:
        kwargs.setdefault("headers", {"Retry-After": "5"})
        super().__init__(detail, **kwargs)


class StorageAlmostFull(Unavailable):
    """The disk is almost full, so uploads are refused; nothing was stored."""

    code = "storage_short"


class DatabaseUnavailable(Unavailable):
    """The database did not answer."""

    code = "database_away"


class StoredFileUnavailable(Unavailable):
    """A stored file cannot be read now."""

    code = "file_away"
    remedy = "Try again later; if the problem persists, contact the administrator."


class CommitUncertain(DatabaseUnavailable):
    """The connection to the database failed during the commit; the change may or may not be stored."""

    code = "commit_uncertain"
    remedy = "Check whether the change is stored, or repeat the request with the same Idempotency-Key."
