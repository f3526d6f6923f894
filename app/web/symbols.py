"""Letters of equations in running text."""

import re

from markupsafe import Markup, escape

_SHIFTED = re.compile(r"([_^])(\{[^{}]*\}|[^\W_]+|[+\-∈])")


def symbol(name: str) -> Markup:
    """A letter of an equation as the catalogue writes it, such as 'p_j' or 'C_{j,k}', with its indices set lower."""

    def shift(found: re.Match[str]) -> str:
        tag = "sub" if found[1] == "_" else "sup"
        return f"<{tag}>{found[2].strip('{}')}</{tag}>"

    return Markup(_SHIFTED.sub(shift, str(escape(name))))  # noqa: S704 - escaped just before
