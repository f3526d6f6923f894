"""File formats: bytes to columns, with a full list of problems; pure, and the same for every way in."""

from app.formats.kinds import FORMATS, FileKind, Format, file_kind
from app.formats.problem import Problem, Problems
from app.formats.rules import DEFAULT_LIMITS, Limits, Rules

__all__ = [
    "DEFAULT_LIMITS",
    "FORMATS",
    "FileKind",
    "Format",
    "Limits",
    "Problem",
    "Problems",
    "Rules",
    "file_kind",
]
