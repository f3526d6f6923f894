"""The form of an invitation, to a challenge or to the site."""

from app.api.users import NewInvitation
from app.web.forms import Form, whole_number


def new_invitation(form: Form) -> NewInvitation:
    """The invitation that a form asks for; an empty number of uses means any number. Raises ValidationError."""
    body = {"note": form.text("note"), "days": whole_number(form.text("days"))}
    given = {name: value for name, value in body.items() if value is not None}
    return NewInvitation.model_validate(given | {"max_uses": whole_number(form.text("max_uses"))})
