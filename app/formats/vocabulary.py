"""The classes that scores are for: which one a file's name of it means, and what is said where it means none."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from app.formats.decoding import to_nfc
from app.formats.problems import quote
from app.formats.suggestions import SuggestionFinder

ProblemText = tuple[str, str | None, str]
"""Message, expected and got of a problem."""
_MAX_SUGGESTION_LOOKUPS = 1000
"""So many names of classes that are unknown are compared with those that are known."""


@dataclass(slots=True)
class Vocabulary:
    """The classes that scores are for; `positive` is the positive label of a binary task, whose score may stand alone."""

    classes: Sequence[str]
    positive_label: str | None
    exclusive: bool
    """Whether exactly one class is right, so that probabilities sum to one."""
    codes: dict[str, int] = field(init=False)
    max_name_length: int = field(init=False)
    """The characters that the name of a class may have: composing makes up to four into one."""
    _suggestion_finder: SuggestionFinder = field(init=False)
    _suggestions: dict[str, str | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.codes = {name: code for code, name in enumerate(self.classes)}
        self.max_name_length = 4 * max(map(len, self.codes), default=0)
        self._suggestion_finder = SuggestionFinder(self.codes)

    @property
    def width(self) -> str:
        """How many scores an instance has, in words."""
        alone = ", or one of the positive label" if self.positive_label is not None else ""
        return f"{len(self.codes)} scores{alone}"

    def normalize_name(self, given: str) -> str:
        """A name as classes are compared: in NFC."""
        return to_nfc(given, self.max_name_length)

    def is_missing_class(self, given: Collection[str], known: int) -> bool:
        """Whether a class is neither among these names, `known` of which are classes, nor meant by a misspelt one.

        What a misspelt name means is told there already.
        """
        if known == len(self.codes):
            return False
        meant = {self._intended_class(name) for name in given if name not in self.codes}
        return known + sum(1 for name in meant if name is not None and name not in given) < len(self.codes)

    def missing_classes_text(self, given: Collection[str], got: str) -> ProblemText:
        """What is said of names that lack some classes."""
        meant = {self._intended_class(name) for name in given if name not in self.codes}
        lacking = [name for name in self.codes if name not in given and name not in meant]
        return f"There is no score for {_shortened_list(lacking)}. Give exactly one for each class.", self.width, got

    def unknown_class_text(self, name: str) -> ProblemText:
        """What is said of a name that is no class."""
        near = self._intended_class(name)
        mend = f"Did you mean {quote(near)}?" if near is not None else "Use the labels of the vocabulary."
        return f"{quote(name)} is not in the vocabulary. {mend}", quote(near) if near else self.width, quote(name)

    def _intended_class(self, name: str) -> str | None:
        """The class that a misspelt name means; looked for once, and for so many names at most."""
        if name not in self._suggestions and len(self._suggestions) < _MAX_SUGGESTION_LOOKUPS:
            self._suggestions[name] = self._suggestion_finder.find(name)
        return self._suggestions.get(name)


def _shortened_list(names: Sequence[str]) -> str:
    shown = ", ".join(quote(name) for name in names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more classes"
