"""How a reader of pages mends an error, where the remedy of the API speaks to programs."""

from app.errors import AssayError

REMEDIES = {
    "not_found": "Check the address. If somebody gave it to you, log in with the account that was invited.",
    "no_such_route": "Check the address, or begin at the list of challenges.",
    "unauthorized": "Log in, or sign up for an account.",
    "forbidden": "Ask an organizer of the challenge, or log in with an account that may do this.",
    "email_taken": "Log in with this account. If you forgot its password, ask the administrator for a reset link.",
    "invitation_needed": "Enter the code of an invitation; the administrator of this site makes them.",
    "registration_needs_code": "Enter the code of an invitation to this challenge; its organizers make them.",
    "already_registered": "The page of your team shows where you are. To change, leave the team first.",
    "not_captain": "Ask the captain, whom the page of the team names, or the organizers.",
    "merge_too_late": "Only the organizers of the challenge can move the deadline.",
    "may_have_read_gold": "Organizers try their challenge with test entries, and enter baselines.",
    "team_full": "A member has to leave first, or an organizer of the challenge has to raise the limit.",
}


def remedy_of(error: AssayError) -> str | None:
    """The remedy of an error in words for a reader of pages."""
    if error.code == "forbidden" and error.advice != type(error).remedy:
        return error.advice  # which says whom to ask
    return REMEDIES.get(error.code, error.advice)
