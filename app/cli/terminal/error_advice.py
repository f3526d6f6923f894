"""Explains errors of the service at the command line: remedies as commands, and the object that the request named."""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from app.cli.terminal.table_layout import time_in_zones
from app.errors import BadRequest, NotFound

_VERSION_REMEDY = "The command and the service have different versions; see assay --version."
_METRICS_REMEDY = "'assay metrics' lists all metrics, 'assay metrics KEY' shows a metric's parameters and options."
_RETRY_REMEDY = "Try again later; this cannot submit anything twice."
ADVICE: dict[str, str] = {
    "unauthorized": "Log in first: assay login (to create an account: assay signup).",
    "unauthorized+token": "Log in again: assay login. A token in ASSAY_TOKEN or --token overrides that of the login.",
    "wrong_password+token": "Check it; passwords are case-sensitive.",
    "wrong_password": "Check both; passwords are case-sensitive. To create an account: assay signup.",
    "insufficient_scope": "Get a token with this scope: assay login --scope read --scope submit --scope {scope}.",
    "insufficient_scope+admin": "Get a token with this scope: "
    "assay login --scope read --scope submit --scope organize --scope admin.",
    "insufficient_scope+read": "Get a token with this scope: assay login --scope read --scope submit.",
    "insufficient_scope+submit": "Get a token with this scope: assay login --scope read --scope submit.",
    "report_too_large": "'assay score' computes single metrics from the files.",
    "not_registered": "Register first: assay register {slug} --team NAME.",
    "already_registered": "'assay team show {slug}' shows your team, and who is approved.",
    "team_name_taken": "Choose another name: assay register {slug} --team NAME.",
    "email_taken": "Log in with this address: assay login.",
    "not_found": "Check the name: 'assay challenge list' lists the challenges that are visible to you; "
    "others may require a login: assay login.",
    "not_found+token": "Check the name: 'assay challenge list' lists the challenges that are visible to you.",
    "not_found+phase": "Specify the phase with --phase: {phases}.",
    "not_found+gold": "List the versions: assay gold list {slug} --phase {phase}.",
    "not_found+submission": "Check the id, which has 32 characters: 'assay submissions SLUG' lists your team's "
    "submissions, 'assay leaderboard SLUG --json' has those on a board.",
    "not_found+submission_of_visitor": "Check the id, which has 32 characters: 'assay leaderboard SLUG --json' has those "
    "on a board; others require a login: assay login.",
    "split_hidden": "Omit --split to see the split that is visible now.",
    "leaderboard_hidden": "'assay challenge show {slug}' shows when the phases close.",
    "leaderboard_hidden+waiting": "Try again later. Submissions that fail or are cancelled do not delay the leaderboard.",
    "bad_request": "Correct the errors above; --help describes the options.",
    "bad_cursor": "Run the command again.",
    "no_such_route": _VERSION_REMEDY,
    "method_not_allowed": _VERSION_REMEDY,
    "too_slow": "Try again over a faster connection; compressed files (.gz) are faster too.",
    "commit_uncertain": "Before you repeat the command, check whether it took effect ('assay submissions {slug}').",
    "no_open_phase": "'assay challenge show {slug}' shows when the phases are open.",
    "several_open_phases": "Specify the phase with --phase: {phases}.",
    "which_phase": "Specify the phase with --phase.",
    "no_gold": "An organizer must upload the gold labels first: assay gold upload {slug} -f FILE --activate.",
    "gold_not_draft": "Upload a new version: assay gold upload {slug} -f FILE.",
    "not_finished": "Select a submission that has scores or is waiting for them: 'assay submissions SLUG' lists them.",
    "already_imported": "'assay imports' shows the import; a phase is imported once, whichever export of it is sent.",
    "own_phase": "Import it into another installation, or copy the challenge: assay challenge copy.",
    "request_in_flight": "Wait until it has finished, or try again later.",
    "too_large": "Compress the file (.gz or .zst), or ask the administrator for a higher limit.",
    "unsupported_media_type": "The file name must end in .json, .jsonl, .csv, .tsv, .npz, .parquet or .arrow, which .gz or .zst may follow.",
    "invalid_request": "Correct the errors above and try again.",
    "invalid_recipe": _METRICS_REMEDY,
    "invalid_metric": _METRICS_REMEDY,
    "idempotency_mismatch": "Submit again.",
    "rate_limited": "Try again in {pause} seconds.",
    "no_team": "Found one: assay register {slug} --team NAME; or join one: assay register {slug} --invitation CODE.",
    "not_captain": "Ask the captain, whom 'assay team show SLUG' names, or the organizers.",
    "no_merge_proposal": "'assay team show SLUG' lists the open proposals of your team.",
    "still_registered": "The user must end the registration first: assay unregister {slug}.",
    "challenge_archived": "An owner can make it writable again: assay challenge unarchive {slug}.",
    "challenge_in_use": "Archive it: assay challenge archive {slug}; an administrator can delete it.",
    "analysis_too_large": "Choose a --split, or analyse a folder of the files without limits: assay items FOLDER --gold GOLD.",
    "no_receipt": "Try again in a few minutes, or choose another --split or --gold-version.",
    "reason_required": 'Say what changes and why: --reason "…".',
    "recipe_in_use": "Store it as a draft and activate that: assay recipe set SLUG -f FILE, assay recipe activate.",
    "recipe_not_draft": "Store the recipe again, which makes a new version: assay recipe set SLUG -f FILE.",
    "switch_pending": "Wait until it is done ('assay switch list SLUG' shows it), or cancel it: assay switch cancel.",
    "too_many_streams": "Close one of your other event streams, or read the status: assay submission ID.",
    "registration_needs_code": "Ask the organizers for a code: assay register {slug} --invitation CODE --team NAME.",
    "selection_full": "Unselect one first: assay unselect ID.",
    "not_releasable": "The preview lists what has to happen before: assay phase release {slug} --phase {phase}.",
    "quota_exceeded": "See what your team has used: assay quota {slug}.",
    "quota_exceeded+total": "This limit does not reset; only an organizer can raise it.",
    "quota_exceeded+concurrent": "Wait for one of them to finish: assay submissions {slug}.",
    "unavailable": _RETRY_REMEDY,
    "former_boards_busy": "Try again in {pause} seconds.",
    "storage_short": "Try again later, or contact the administrator.",
    "database_away": _RETRY_REMEDY,
}
"""Remedies by error code. A suffix after + restricts one to a quota, scope, kind of object or fact, or to requests with a token.

For all other errors the service's own remedy is shown.
"""

_PHASE_PATTERN = r"/challenges/(?P<slug>[^/]+)/phases/(?P<phase>[^/]+)"
_PATH_DESCRIPTIONS = (
    (rf"{_PHASE_PATTERN}/gold/(?P<gold>\d+)(/.*)?", "gold version {gold} of phase '{phase}' in challenge '{slug}'"),
    (rf"{_PHASE_PATTERN}(/.*)?", "phase '{phase}' in challenge '{slug}'"),
    (r"/challenges/(?P<slug>[^/]+)(/.*)?", "challenge '{slug}'"),
    (r"/submissions/(?P<submission>[^/]+)(/.*)?", "submission '{submission}'"),
    (r"/tokens/(?P<id>[^/]+)", "token '{id}'"),
)


@dataclass(frozen=True)
class FailedRequest:
    """The refused request: address of the service, path below /api/v1, and whether a token was sent."""

    url: str = ""
    path: str = ""
    with_token: bool = False
    scope: str | None = None
    pause: str | None = None

    def named_object(self) -> tuple[str | None, dict[str, str]]:
        """The object that the path names, in words, and the parts of the path."""
        for pattern, description in _PATH_DESCRIPTIONS:
            match = re.fullmatch(pattern, self.path)
            if match:
                parts = {name: unquote(text) for name, text in match.groupdict().items() if text is not None}
                return description.format_map(parts), parts
        return None, {}


def failed_request_of(error: Any) -> FailedRequest:
    """The request that led to a client error."""
    headers: Mapping[str, str] = getattr(error, "headers", {})
    scope = re.search(r'scope="(\w+)"', headers.get("WWW-Authenticate", ""))
    return FailedRequest(
        url=getattr(error, "url", ""),
        path=getattr(error, "path", ""),
        with_token=getattr(error, "with_token", False),
        scope=scope.group(1) if scope else None,
        pause=headers.get("Retry-After"),
    )


def explain_problem(document: Mapping[str, Any], request: FailedRequest | None = None) -> dict[str, Any]:
    """The document for people: detail and remedy in terms of commands, and `facts`, a list of sentences."""
    request = request or FailedRequest()
    code = str(document.get("code", ""))
    object_name, parts = request.named_object()
    explanation = {**document, "detail": _detail_without_errors(document), "facts": problem_facts(document)}
    if code == "not_found" and document.get("detail") != NotFound().detail:
        # The service names what is missing, which is only a part of the object that the path names.
        if document.get("remedy") == NotFound.remedy:
            explanation["remedy"] = "Check the name or id."
    elif code == "not_found" and object_name is not None:
        explanation["detail"] = f"There is no {object_name} at {request.url} that is visible to you."
    advice = _find_advice(code, document, request, parts)
    if advice is not None:
        phases = ", ".join(map(str, document.get("phases") or document.get("known_phases") or ())) or "its name"
        values = {**parts, "scope": request.scope or "organize", "phases": phases, "pause": request.pause or "a few"}
        explanation["remedy"] = advice.format_map(defaultdict(lambda: "SLUG", values))
    return explanation


def _find_advice(
    code: str, document: Mapping[str, Any], request: FailedRequest, parts: Mapping[str, str]
) -> str | None:
    if code in {"not_found", "database_away"} and not request.path:
        return None  # raised on this machine, with a remedy of its own
    if code == "bad_request" and document.get("remedy", BadRequest.remedy) != BadRequest.remedy:
        return None  # more exact than the advice
    if (
        code == "not_found"
        and document.get("detail") != NotFound().detail
        and not ("known_phases" in document or "gold" in parts)
    ):
        return None
    kind = next((kind for kind in ("submission", "gold") if kind in parts), None)
    if kind is not None and not request.with_token:
        kind = f"{kind}_of_visitor"
    facts = ("phase" if "known_phases" in document else None, "waiting" if "waiting" in document else None)
    suffixes = (document.get("quota"), request.scope, *facts, kind, "token" if request.with_token else None)
    specific = (ADVICE.get(f"{code}+{suffix}") for suffix in suffixes if suffix)
    return next((advice for advice in specific if advice), ADVICE.get(code))


def _detail_without_errors(document: Mapping[str, Any]) -> str:
    """The message up to the errors, which are listed below it anyway."""
    detail = str(document.get("detail") or document.get("title") or "The command failed.")
    for error in document.get("errors") or ():
        where = error.get("pointer") or error.get("parameter") or "body"
        start, separator, _ = detail.partition(f"{where}: {error.get('detail', '')}")
        if separator:
            return start.strip() or "The request is not valid:"
    return detail


def problem_facts(document: Mapping[str, Any]) -> list[str]:
    """The facts that people need: times, phases, selected submissions, reasons."""
    facts: list[str] = []
    times = {"reset_at": "Resets", "opens_at": "Opens", "closes_at": "Closes"}
    if document.get("opens_at") and document.get("closes_at"):  # a window, of which parts may be past
        start, end = (time_in_zones(document, name) for name in ("opens_at", "closes_at"))
        facts, times = [*facts, f"Open from {start} to {end}."], {"reset_at": "Resets"}
    elif document.get("code") == "no_open_phase":
        times["closes_at"] = "Closed"
    facts += [f"{verb} at {time_in_zones(document, key)}." for key, verb in times.items() if document.get(key)]
    if document.get("late_phases"):
        facts.append(f"Takes late entries, which are never ranked: --phase {', '.join(document['late_phases'])}.")
    if document.get("phases"):
        facts.append(f"Open now: {', '.join(map(str, document['phases']))}.")
    if document.get("selected"):
        facts.append(f"Selected now: {', '.join(map(str, document['selected']))}.")
    if document.get("reason"):
        facts.append(f"Reason: {document['reason']}")
    return facts
