"""What is wrong and how to mend it in words for a reader of pages, where the API speaks to programs."""

import re

from app.errors import AssayError

OF_PROGRAMS = re.compile(
    r"\b(GET|POST|PUT|PATCH|DELETE|Authorization|Bearer|Location|Retry-After|Idempotency-Key|Content-Encoding|ASSAY_\w+|"
    r"application/\w+)\b|/api/|token|[?][a-z_]+=|\bassay |[{}]"
)
"""What only a program or an operator understands: methods, headers, settings, commands."""
COMMAND = re.compile(r" \(assay [^()]*\)")
"""A command in parentheses, beside words that say the same to people."""
FIELD = re.compile(r"'[a-z]+(_[a-z]+)*'")
"""A field of a reply of the API, in the remedy of a class of errors; in that of one error it may be somebody's word."""

ASK_LATER = "Try again in a moment. If it happens again, tell the administrator of this site."
REMEDIES = {
    "not_found": "Check the address. If somebody gave it to you, log in with the account that was invited.",
    "no_such_route": "Check the address, or begin at the list of challenges.",
    "unauthorized": "Log in, or sign up for an account.",
    "forbidden": "Ask an organizer of the challenge, or log in with an account that may do this.",
    "insufficient_scope": "Log out, and log in again.",
    "renamed": "Follow the link to its new address.",
    "bad_request": "Go back, and follow a link of the page instead of a changed address.",
    "bad_cursor": "Begin with the first page of the list.",
    "invalid_request": "Go back, and correct what the message names.",
    "too_large": "Compress the file with gzip, or ask the administrator of this site for a higher limit.",
    "too_slow": "Send the form again. Nothing was stored.",
    "unsupported_media_type": "Send a file in one of the formats that the page of the challenge lists.",
    "rate_limited": "Wait a little, then try again.",
    "unavailable": ASK_LATER,
    "database_away": ASK_LATER,
    "storage_short": ASK_LATER,
    "folder_away": ASK_LATER,
    "file_away": ASK_LATER,
    "commit_uncertain": "Look whether the change is there. If it is not, send the form again.",
    "insecure_address": "Open this site by https. Its operator decides whether passwords may be sent without encryption.",
    "email_taken": "Log in with this account. If you forgot its password, ask the administrator for a reset link.",
    "invitation_needed": "Enter the code of an invitation; the administrator of this site makes them.",
    "no_password": "Ask the administrator of this site for an account with a password.",
    "no_public_url": "Ask the operator of this site to set its public address.",
    "registration_needs_code": "Enter the code of an invitation to this challenge; its organizers make them.",
    "not_registered": "Take part first: the page of the challenge leads to the registration.",
    "no_team": "Found a team, or join one with a code from its captain, on the page of your team.",
    "already_registered": "The page of your team shows where you are. To change, leave the team first.",
    "not_captain": "Ask the captain, whom the page of the team names, or the organizers.",
    "no_merge_proposal": "The page of your team lists the open proposals.",
    "merge_too_late": "Only the organizers of the challenge can move the deadline.",
    "may_have_read_gold": "Organizers try their challenge with test entries, and enter baselines.",
    "still_registered": "The user must end the registration first, on the page of the team.",
    "team_full": "A member has to leave first, or an organizer of the challenge has to raise the limit.",
    "team_disqualified": "Ask the organizers, who can reinstate the team.",
    "invalid_metric": "The catalogue shows every metric with its parameters and options.",
    "invalid_recipe": "The catalogue shows every metric with its parameters and options.",
    "leaderboard_hidden": "The page of the challenge says when its leaderboards are shown.",
    "split_hidden": "Open the leaderboard without a split.",
    "not_releasable": "The page of the release lists what has to happen before.",
    "phase_paused": "Wait until the organizers resume it; the page of the challenge says why it is paused.",
    "several_open_phases": "Choose one of the phases.",
    "selection_full": "Take another submission out of the selection first.",
    "quota_exceeded": "Wait until the day of the quota ends or a running submission is scored; organizers can grant more.",
    "report_too_large": "Open one part of the report alone.",
    "analysis_too_large": "Ask the administrator of this site for higher limits, or analyse a folder of the files with the "
    "command line, which has none.",
}
DETAILS = {
    "unauthorized": "This page needs an account.",
    "insufficient_scope": "Your session may not do this.",
    "invalid_request": "The form was not understood.",
    "request_in_flight": "This form is being handled already.",
    "idempotency_mismatch": "Another form was sent under the same key.",
}


def remedy_of(error: AssayError) -> str:
    """How a reader of pages mends an error: as the error itself says, unless that is for programs."""
    advice, is_general = COMMAND.sub("", error.advice), error.advice == type(error).remedy
    if OF_PROGRAMS.search(advice) or (is_general and FIELD.search(advice)):
        return REMEDIES.get(error.code, ASK_LATER)
    return REMEDIES.get(error.code, advice) if is_general else advice


def detail_of(error: AssayError) -> str:
    """What is wrong, in words for a reader of pages."""
    is_general = error.detail == " ".join((type(error).__doc__ or "").split())
    return DETAILS.get(error.code, error.detail) if is_general else error.detail
