"""How a vectorized reader hands a file over to the strict reader."""

import re

import numpy as np


class UnsupportedLayout(Exception):
    """The file does not have the one layout that this vectorized reader supports: the strict reader takes over."""


def require(condition: bool | np.bool_) -> None:
    """Raise UnsupportedLayout unless the condition holds."""
    if not condition:
        raise UnsupportedLayout


def require_match(pattern: re.Pattern[bytes], text: bytes | memoryview, start: int = 0) -> re.Match[bytes]:
    """The match of a pattern at `start`; raises UnsupportedLayout where there is none."""
    match = pattern.match(text, start)
    if match is None:
        raise UnsupportedLayout
    return match


def decode_utf8(text: bytes) -> str:
    """The text that these bytes encode; raises UnsupportedLayout where they encode none."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        raise UnsupportedLayout from None
