"""What all pages of the administrator's desk share."""

from typing import Any

from starlette.responses import Response

from app.actions.access import require_administrator
from app.web.challenge_frame import Tab
from app.web.forms import Form
from app.web.page import PageContext
from app.web.rendering import NO_FORM, render

PATH = "/administration"
# The name of each page, which is the end of its path, and its label.
PAGES = {
    "": "State",
    "users": "Accounts",
    "challenges": "Challenges",
    "workers": "Workers and checks",
    "invitations": "Invitations",
    "imports": "Imports",
    "audit": "Audit trail",
}


def require_admin(page: PageContext) -> None:
    """Raise Unauthorized for a visitor, and Forbidden unless the caller is an administrator."""
    require_administrator(page.account, "Only administrators of this service may see this page.")


def show(
    page: PageContext, name: str, template: str, form: Form = NO_FORM, status: int = 200, **values: Any
) -> Response:
    """A page of the desk; raises what require_admin raises."""
    require_admin(page)
    tabs = [Tab(key, label, f"{PATH}/{key}" if key else PATH) for key, label in PAGES.items()]
    return render(
        page, f"administration/{template}", form=form, status=status, desk_page=name, desk_pages=tabs, **values
    )
