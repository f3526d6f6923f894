"""Values of form fields as the request bodies of the API take them."""

from app.web.forms import Form


def whole_number(form: Form, name: str) -> int | str | None:
    """A whole number; None if the field is empty; any other text as it is, which the request body refuses."""
    text = form.text(name)
    if text is None:
        return None
    text = text.replace("\N{MINUS SIGN}", "-")
    return int(text) if text.isascii() and text.lstrip("+-").isdigit() and len(text) <= 20 else text
