"""The classes that scores are for: resolves a file's names of classes, and describes names that cannot be resolved."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from app.formats.content.utf8_decoding import to_nfc
from app.formats.problems import quote, shorten
from app.formats.validation.suggestions import SuggestionFinder

ProblemText = tuple[str, str | None, str]
"""Message, expected and got of a problem."""
_NUMBER = re.compile(r"-?[0-9]+(?:\.0*)?")
_MAX_SUGGESTION_LOOKUPS = 1000
"""How many unknown names are compared with the classes."""


class ClassNumberAdvice:
    """Advice where a number stands for a class although no class is called by a number."""

    def __init__(self, classes: Collection[str]) -> None:
        self._classes = classes

    def remedy(self, name: str) -> str | None:
        """How to write the class; None for a name that is no number, and where some class is called by a number."""
        return self._remedy if _NUMBER.fullmatch(name) else None

    @cached_property
    def _remedy(self) -> str | None:
        """Shows how most programs count the classes. Nothing is translated, as some programs count in another way."""
        if any(map(_NUMBER.fullmatch, self._classes)):
            return None
        names = [quote(shorten(label, 30)) for label in sorted(self._classes)[:4]]
        examples = ", ".join(f"{number} is {name}" for number, name in enumerate(names))
        more = ", …" if len(self._classes) > len(names) else ""
        return (
            f"The classes have names: write them instead of numbers. Counted from 0 in sorted order, {examples}{more}."
        )


@dataclass(slots=True)
class Vocabulary:
    """The classes that scores are for; in a binary task the score of `positive_label` may stand alone."""

    classes: Sequence[str]
    positive_label: str | None
    exclusive: bool
    """Whether exactly one class is right, so that probabilities sum to one."""
    codes: dict[str, int] = field(init=False)
    max_name_length: int = field(init=False)
    """Characters of the longest name that is normalized: NFC composes up to four characters into one."""
    _suggestion_finder: SuggestionFinder = field(init=False)
    _number_advice: ClassNumberAdvice = field(init=False)
    _suggestions: dict[str, str | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.codes = {name: code for code, name in enumerate(self.classes)}
        self.max_name_length = 4 * max(map(len, self.codes), default=0)
        self._suggestion_finder = SuggestionFinder(self.codes)
        self._number_advice = ClassNumberAdvice(self.codes)

    @property
    def width(self) -> str:
        """The expected number of scores of an instance, in words."""
        alternative = ", or one for the positive label" if self.positive_label is not None else ""
        return f"{len(self.codes)} scores{alternative}"

    def normalize_name(self, name: str) -> str:
        """A name in NFC, in which classes are compared."""
        return to_nfc(name, self.max_name_length)

    def is_missing_class(self, names: Collection[str], known_count: int) -> bool:
        """Whether a class is missing: not among these names (`known_count` are classes), nor intended by a misspelt one.

        A misspelt name is a problem of its own, which suggests the intended class.
        """
        if known_count == len(self.codes):
            return False
        intended_classes = {self._intended_class(name) for name in names if name not in self.codes}
        return known_count + sum(1 for name in intended_classes if name is not None and name not in names) < len(
            self.codes
        )

    def missing_classes_text(self, names: Collection[str], got: str) -> ProblemText:
        """The problem of names among which some classes are missing."""
        intended_classes = {self._intended_class(name) for name in names if name not in self.codes}
        missing = [name for name in self.codes if name not in names and name not in intended_classes]
        return f"There is no score for {_shortened_list(missing)}. Give exactly one for each class.", self.width, got

    def unknown_class_text(self, name: str) -> ProblemText:
        """The problem of a name that is not a class."""
        suggestion = self._intended_class(name)
        remedy = self._number_advice.remedy(name)
        if remedy is None:
            remedy = f"Did you mean {quote(suggestion)}?" if suggestion else "Use the labels of the vocabulary."
        return (
            f"{quote(name)} is not in the vocabulary. {remedy}",
            quote(suggestion) if suggestion else self.width,
            quote(name),
        )

    def _intended_class(self, name: str) -> str | None:
        """The class that a misspelt name probably means; each name is looked up once, and only so many names are."""
        if name not in self._suggestions and len(self._suggestions) < _MAX_SUGGESTION_LOOKUPS:
            self._suggestions[name] = self._suggestion_finder.find(name)
        return self._suggestions.get(name)


def _shortened_list(names: Sequence[str]) -> str:
    text = ", ".join(quote(name) for name in names[:5])
    return text if len(names) <= 5 else f"{text} and {len(names) - 5} more classes"
