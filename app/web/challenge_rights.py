"""What the caller of a page may do on this site, to offer it or not."""

from app import errors
from app.actions.challenges.create_challenge import require_can_create_challenge
from app.web.page import PageContext


def may_create_challenge(page: PageContext) -> bool:
    """Whether the caller may create challenges."""
    try:
        require_can_create_challenge(page.caller, page.state.settings.challenge_creation)
    except (errors.Unauthorized, errors.Forbidden):
        return False
    return True
