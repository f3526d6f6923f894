"""File formats: reads bytes into columns with a complete list of problems, without side effects."""

from app.formats.content.format_detection import (
    FORMATS,
    GENERIC_MEDIA_TYPES,
    FileKind,
    Format,
    detect_file_kind,
    media_type_in_form,
)
from app.formats.problems import Problem, Problems
from app.formats.reading_rules import DEFAULT_LIMITS, Limits, ReadingRules

__all__ = [
    "DEFAULT_LIMITS",
    "FORMATS",
    "GENERIC_MEDIA_TYPES",
    "FileKind",
    "Format",
    "Limits",
    "Problem",
    "Problems",
    "ReadingRules",
    "detect_file_kind",
    "media_type_in_form",
]
