"""Notices that a page shows once, after a form was handled. A cookie of the redirect names them by their code."""

from typing import NewType

Notice = NewType("Notice", str)

_SENTENCES: dict[str, str] = {}


def notice(code: str, sentence: str) -> Notice:
    """Declare a notice; its sentence is fixed, so that a cookie cannot put words on a page."""
    assert code not in _SENTENCES, f"the notice '{code}' is declared twice"
    _SENTENCES[code] = sentence
    return Notice(code)


def notice_sentence(code: str) -> str | None:
    """The sentence of a notice; None for an unknown code."""
    return _SENTENCES.get(code)
