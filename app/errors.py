"""The tree of what can go wrong: each leaf owns a stable code, an HTTP status and a remedy.

    AssayError
    ├── Unauthorized          401  no or bad token
    ├── Forbidden             403  visible but not allowed
    ├── NotFound              404  absent, or hidden from this caller (the two look the same)
    ├── BadRequest            400  a header or parameter is off
    ├── Conflict              409  the state forbids it
    ├── TooSlow               408  the body stopped coming
    ├── TooLarge              413  more bytes than allowed
    ├── UnsupportedMedia      415  media type or encoding nobody reads
    ├── InvalidContent        422  the content is wrong
    ├── TooMany               429  quota or rate limit
    └── Unavailable           503  storage short, database away, too busy

A leaf's docstring is its default message, so the documentation and the message cannot drift apart.
"""

from collections.abc import Mapping
from typing import Any, ClassVar


class AssayError(Exception):
    """Something went wrong."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal_error"
    remedy: ClassVar[str] = "Try again later; if it persists, tell the administrator."

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


# ---- 401 and 403: who you are, what you may do ------------------------------------------------


class Unauthorized(AssayError):
    """A valid token is needed."""

    status = 401
    code = "unauthorized"
    remedy = "Send 'Authorization: Bearer <token>'; POST /api/v1/tokens gives one."


class WrongPassword(Unauthorized):
    """The e-mail address or the password is wrong."""

    code = "wrong_password"
    remedy = "Check both; passwords are case-sensitive."


class Forbidden(AssayError):
    """You may see this, but not do that."""

    status = 403
    code = "forbidden"
    remedy = "Ask an organizer of the challenge, or use a token of an account that may."


class InsufficientScope(Forbidden):
    """The token lacks the scope that this needs."""

    code = "insufficient_scope"
    remedy = "Make a token with the scope named in the message."


class NotRegistered(Forbidden):
    """Only members of a registered team may do this."""

    code = "not_registered"
    remedy = 'Register first: POST /api/v1/challenges/{slug}/registrations with {"team": "Name"}.'


class RegistrationPending(Forbidden):
    """The registration waits for an organizer's approval."""

    code = "registration_pending"
    remedy = "Wait until an organizer approves the team."


class RegistrationBarred(Forbidden):
    """An organizer barred this team."""

    code = "registration_barred"
    remedy = "Ask the organizers; the reason is in the registration."


class LeaderboardHidden(Forbidden):
    """The organizers do not show this leaderboard now."""

    code = "leaderboard_hidden"
    remedy = "The phase says when it is shown: 'hidden' never, 'after_close' once it has closed and all is scored."


class SplitHidden(Forbidden):
    """This split is not shown to participants and visitors now."""

    code = "split_hidden"
    remedy = "Leave ?split= away to read the split that is shown now."


class SignupClosed(Forbidden):
    """This site does not let people sign up by themselves."""

    code = "signup_closed"
    remedy = "Ask the administrator for an account."


# ---- 404 --------------------------------------------------------------------------------------


class NotFound(AssayError):
    """There is nothing here that you may see."""

    status = 404
    code = "not_found"
    remedy = "Check the address; if it exists, it is not visible with this token."


# ---- 400 --------------------------------------------------------------------------------------


class BadRequest(AssayError):
    """A header or parameter of the request is wrong."""

    status = 400
    code = "bad_request"
    remedy = "Correct the parameter named in the message."


class BadCursor(BadRequest):
    """This cursor was not made by this service for this list."""

    code = "bad_cursor"
    remedy = "Start again without ?cursor=."


# ---- 409 --------------------------------------------------------------------------------------


class Conflict(AssayError):
    """The present state forbids this."""

    status = 409
    code = "conflict"
    remedy = "Read the object again and decide anew."


class SlugTaken(Conflict):
    """A challenge with this slug exists already."""

    code = "slug_taken"
    remedy = "Choose another slug."


class EmailTaken(Conflict):
    """An account with this e-mail address exists already."""

    code = "email_taken"
    remedy = "Log in with it: POST /api/v1/tokens."


class TeamNameTaken(Conflict):
    """A team of this name exists already in this challenge."""

    code = "team_name_taken"
    remedy = "Choose another name."


class AlreadyRegistered(Conflict):
    """You are registered for this challenge already."""

    code = "already_registered"
    remedy = "GET /api/v1/challenges/{slug}/registrations shows your team."


class PhaseNameTaken(Conflict):
    """A phase of this name exists already in this challenge."""

    code = "phase_name_taken"
    remedy = "Choose another name."


class NoOpenPhase(Conflict):
    """No phase of this challenge is open now."""

    code = "no_open_phase"
    remedy = "See opens_at and closes_at of the phases."


class PhaseClosed(Conflict):
    """The phase has closed, so the choice of submissions stands."""

    code = "phase_closed"
    remedy = "Only its organizers can still change it."


class SeveralOpenPhases(Conflict):
    """Several phases are open now; say which one you mean."""

    code = "several_open_phases"
    remedy = "POST to /api/v1/challenges/{slug}/phases/{phase}/submissions."


class NoGold(Conflict):
    """The phase has no active gold labels yet."""

    code = "no_gold"
    remedy = "An organizer has to upload and activate gold first."


class GoldNotDraft(Conflict):
    """Only a draft of the gold may change; this version is sealed."""

    code = "gold_not_draft"
    remedy = "Upload a new version."


class GoldAlreadyActive(Conflict):
    """The phase has active gold already, and replacing it is not offered yet."""

    code = "gold_active"
    remedy = "Open a new phase for other gold labels."


class RecipeInUse(Conflict):
    """Scores exist under the present recipe, so the computed metrics may not change any more."""

    code = "recipe_in_use"
    remedy = "Change only selection, tie_breakers or disclosure, or open a new challenge."


class ChallengeNotDraft(Conflict):
    """Only a draft challenge can be deleted."""

    code = "not_draft"
    remedy = "A published challenge stays; set visibility to private to hide it."


class LastOwner(Conflict):
    """A challenge needs at least one owner."""

    code = "last_owner"
    remedy = "Name another owner first."


class SubmissionNotFinished(Conflict):
    """A submission that ended without scores cannot be selected."""

    code = "not_finished"
    remedy = "Select one that is finished, or still to be scored."


class RequestInFlight(Conflict):
    """A request with this Idempotency-Key is still being answered."""

    code = "request_in_flight"
    remedy = "Wait for its answer, or repeat it a little later."


# ---- 408 --------------------------------------------------------------------------------------


class TooSlow(AssayError):
    """The body stopped coming."""

    status = 408
    code = "too_slow"
    remedy = "Send it again; an Idempotency-Key makes that safe."


# ---- 413, 415, 422 ----------------------------------------------------------------------------


class TooLarge(AssayError):
    """The body is larger than allowed."""

    status = 413
    code = "too_large"
    remedy = "Compress the file (gzip), or ask the administrator for a higher limit."


class UnsupportedMedia(AssayError):
    """Nobody here reads this media type or content encoding."""

    status = 415
    code = "unsupported_media_type"
    remedy = "Send application/json, application/x-ndjson or text/csv, plain or with Content-Encoding: gzip."


class InvalidContent(AssayError):
    """The content is not valid."""

    status = 422
    code = "invalid_content"
    remedy = "Correct what the message names and send it again."


class InvalidRequest(InvalidContent):
    """The request body does not have the documented shape."""

    code = "invalid_request"
    remedy = "Compare it with the example in /docs; 'errors' points to each fault."


class InvalidGold(InvalidContent):
    """The gold file has problems; nothing was stored."""

    code = "invalid_gold"
    remedy = "Mend every problem listed and upload it again."


class InvalidRecipe(InvalidContent):
    """The recipe is not valid."""

    code = "invalid_recipe"
    remedy = "GET /api/v1/metrics lists every metric with its parameters and options."


class InvalidMetric(InvalidRecipe):
    """This metric string is not valid."""

    code = "invalid_metric"
    remedy = "GET /api/v1/metrics (or 'assay metrics') lists every metric with its parameters and options."


class IdempotencyMismatch(InvalidContent):
    """This Idempotency-Key was used before with another request."""

    code = "idempotency_mismatch"
    remedy = "Use a new key for a new request."


# ---- 429 and 503 ------------------------------------------------------------------------------


class TooManyRequests(AssayError):
    """Too many requests."""

    status = 429
    code = "rate_limited"
    remedy = "Wait as long as Retry-After says."


class QuotaExceeded(TooManyRequests):
    """The team has used up its quota."""

    code = "quota_exceeded"
    remedy = (
        "'quota' names the limit: wait until 'reset_at', or for a running submission; only organizers raise a total."
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
    """The disk is nearly full, so uploads are refused; nothing was stored."""

    code = "storage_short"


class DatabaseUnavailable(Unavailable):
    """The database did not answer."""

    code = "database_away"


class StoredFileUnavailable(Unavailable):
    """A file that the service keeps cannot be read now."""

    code = "file_away"
    remedy = "Try again in a while; if it persists, tell the administrator."


class CommitUncertain(DatabaseUnavailable):
    """The database went away while it stored this; it may or may not be stored."""

    code = "commit_uncertain"
    remedy = "Look whether it is there, or repeat the request with the same Idempotency-Key."
