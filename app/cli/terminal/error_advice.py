"""What a refusal means at the command line: advice in its own commands, and what was asked for, in words."""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from app.cli.terminal.table_layout import format_time

ADVICE: dict[str, str] = {
    "unauthorized": "Log in first: assay login (no account yet: assay signup).",
    "unauthorized+token": "Log in again: assay login. A token in ASSAY_TOKEN or --token goes before that of the login.",
    "wrong_password": "Check both; passwords are case-sensitive. No account yet: assay signup.",
    "insufficient_scope": "Log in for a token that has it: assay login --scope read --scope submit --scope {scope}.",
    "insufficient_scope+admin": "Log in for a token that has it: "
    "assay login --scope read --scope submit --scope organize --scope admin.",
    "insufficient_scope+read": "Log in for a token that has it: assay login --scope read --scope submit.",
    "insufficient_scope+submit": "Log in for a token that has it: assay login --scope read --scope submit.",
    "report_too_large": "'assay score' gives one metric by itself, from the files.",
    "not_registered": "Register first: assay register {slug} --team NAME.",
    "already_registered": "Your team can hand in: assay submit {slug} -f FILE.",
    "team_name_taken": "Choose another name: assay register {slug} --team NAME.",
    "email_taken": "Log in with it: assay login.",
    "not_found": "Check the name: 'assay challenge list' shows the challenges that you may see. "
    "Others may need a login: assay login.",
    "not_found+token": "Check the name: 'assay challenge list' shows the challenges that you may see.",
    "not_found+phase": "Say which with --phase: {phases}.",
    "not_found+gold": "See which versions there are: assay gold list {slug} --phase {phase}.",
    "not_found+submission": "Check the id: 'assay submissions SLUG' lists those of your team.",
    "split_hidden": "Leave --split away to read the split that is shown now.",
    "leaderboard_hidden": "'assay challenge show {slug}' says when the phases close.",
    "leaderboard_hidden+waiting": "Try again later. Files that fail for good, or are cancelled, are not waited for.",
    "bad_request": "Correct what is named above; the command's --help says what it takes.",
    "bad_cursor": "Run the command again.",
    "no_such_route": "This command and the service are of different versions: assay --version.",
    "method_not_allowed": "This command and the service are of different versions: assay --version.",
    "too_slow": "Send it again over a better connection; compressed files (.gz) are quicker.",
    "commit_uncertain": "Look whether it is there before you repeat it ('assay submissions {slug}' lists submissions).",
    "no_open_phase": "'assay challenge show {slug}' says when the phases are open.",
    "several_open_phases": "Say which with --phase: {phases}.",
    "which_phase": "Say which with --phase.",
    "no_gold": "An organizer has to upload the true labels first: assay gold upload {slug} -f FILE.",
    "gold_not_draft": "Upload a new version: assay gold upload {slug} -f FILE.",
    "not_finished": "Select one that has scores, or still waits for them; 'assay submissions SLUG' lists them.",
    "request_in_flight": "Wait for its end, or try again a little later.",
    "too_large": "Compress the file (its name then ends in .gz or .zst), or ask the administrator for a higher limit.",
    "unsupported_media_type": "The file name's ending tells the format: .json, .jsonl, .csv, .tsv, .npz, .parquet, .arrow, each also .gz or .zst.",
    "invalid_request": "Mend what is named above and try again.",
    "invalid_recipe": "'assay metrics' lists every metric, 'assay metrics KEY' its parameters and options.",
    "invalid_metric": "'assay metrics' lists every metric, 'assay metrics KEY' its parameters and options.",
    "idempotency_mismatch": "Hand it in once more.",
    "rate_limited": "Try again in {pause} seconds.",
    "quota_exceeded": "See what your team has used: assay quota {slug}.",
    "quota_exceeded+total": "Waiting does not help: only an organizer can raise this limit.",
    "quota_exceeded+concurrent": "Wait for one of them to end: assay submissions {slug}.",
    "unavailable": "Try again in a while; nothing is handed in twice by that.",
    "storage_short": "Try again later, or tell the administrator.",
    "database_away": "Try again in a while; nothing is handed in twice by that.",
}
"""Remedies by code; after a plus: only for this quota, scope, object or fact, or where a token was sent. All else: the service's."""

_QUOTA_WORDS = {
    "per_day": "per day",
    "total": "in all",
    "concurrent": "queued or running at once",
    "invalid_per_day": "invalid files per day",
}
_PHASE_PATTERN = r"/challenges/(?P<slug>[^/]+)/phases/(?P<phase>[^/]+)"
_PATH_DESCRIPTIONS = (
    (rf"{_PHASE_PATTERN}/gold/(?P<gold>\d+)(/.*)?", "gold version {gold} of phase '{phase}' in challenge '{slug}'"),
    (rf"{_PHASE_PATTERN}(/.*)?", "phase '{phase}' in a challenge '{slug}'"),
    (r"/challenges/(?P<slug>[^/]+)(/.*)?", "challenge '{slug}'"),
    (r"/submissions/(?P<submission>[^/]+)(/.*)?", "submission '{submission}'"),
    (r"/tokens/(?P<id>[^/]+)", "token '{id}'"),
)


@dataclass(frozen=True)
class FailedRequest:
    """The request that was refused: address of the service, path below /api/v1, whether a token was sent."""

    url: str = ""
    path: str = ""
    with_token: bool = False
    scope: str | None = None
    pause: str | None = None

    def place(self) -> tuple[str | None, dict[str, str]]:
        """What the path names, in words, and its parts."""
        for pattern, words in _PATH_DESCRIPTIONS:
            found = re.fullmatch(pattern, self.path)
            if found:
                parts = {name: unquote(text) for name, text in found.groupdict().items() if text is not None}
                return words.format_map(parts), parts
        return None, {}


def failed_request_of(error: Any) -> FailedRequest:
    """What a client's error says about its request."""
    headers: Mapping[str, str] = getattr(error, "headers", {})
    scope = re.search(r'scope="(\w+)"', headers.get("WWW-Authenticate", ""))
    return FailedRequest(
        url=getattr(error, "url", ""),
        path=getattr(error, "path", ""),
        with_token=getattr(error, "with_token", False),
        scope=scope.group(1) if scope else None,
        pause=headers.get("Retry-After"),
    )


def explain_problem(document: Mapping[str, Any], asked: FailedRequest | None = None) -> dict[str, Any]:
    """The document for people: detail and remedy in the words of this command line, facts as a list of sentences."""
    asked = asked or FailedRequest()
    code = str(document.get("code", ""))
    what, parts = asked.place()
    made = {**document, "detail": _detail_without_errors(document), "facts": problem_facts(document)}
    if code == "not_found" and what is not None and "known_phases" not in document:
        made["detail"] = f"There is no {what} at {asked.url} that you may see."
    advice = _find_advice(code, document, asked, parts)
    if advice is not None:
        listed = ", ".join(map(str, document.get("phases") or document.get("known_phases") or ())) or "its name"
        known = {**parts, "scope": asked.scope or "organize", "phases": listed, "pause": asked.pause or "a few"}
        made["remedy"] = advice.format_map(defaultdict(lambda: "SLUG", known))
    return made


def _find_advice(code: str, document: Mapping[str, Any], asked: FailedRequest, parts: Mapping[str, str]) -> str | None:
    if code in {"not_found", "database_away"} and not asked.path:
        return None  # said by this machine, with its own remedy
    kind = next((kind for kind in ("submission", "gold") if asked.with_token and kind in parts), None)
    which_phase = "phase" if "known_phases" in document else None
    waiting = "waiting" if "waiting" in document else None
    narrower = (document.get("quota"), asked.scope, which_phase, waiting, kind, "token" if asked.with_token else None)
    special = (ADVICE.get(f"{code}+{which}") for which in narrower if which)
    return next((found for found in special if found), ADVICE.get(code))


def _detail_without_errors(document: Mapping[str, Any]) -> str:
    """The message, without the faults that are listed below it anyway."""
    detail = str(document.get("detail") or document.get("title") or "it failed")
    for fault in document.get("errors") or ():
        where = fault.get("pointer") or fault.get("parameter") or "body"
        head, told, _ = detail.partition(f"{where}: {fault.get('detail', '')}")
        if told:
            return head.strip() or "It is not valid:"
    return detail


def problem_facts(document: Mapping[str, Any]) -> list[str]:
    """What else a refusal says that people need: use and limit of the quota, times, phases, reasons."""
    said = []
    if "limit" in document and "used" in document:
        which = _QUOTA_WORDS.get(str(document.get("quota")), "")
        said.append(f"Used {document['used']} of {document['limit']} {which}".rstrip() + ".")
    words = {"reset_at": "Counted anew from {}.", "opens_at": "Opens {}.", "closes_at": "Closes {}."}
    said += [text.format(f"{format_time(document[key])} UTC") for key, text in words.items() if document.get(key)]
    if document.get("phases"):
        said.append(f"Open now: {', '.join(map(str, document['phases']))}.")
    if document.get("reason"):
        said.append(f"Reason: {document['reason']}")
    return said
