"""A table of answers independent of the format, and the interface of writers, which know the location of each value."""

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

NO_SCORE = object()
"""In a row of scores: no score for this class."""
EXTRA_CLASS = "one/too~many"
"""The class of a superfluous score."""

Location = dict[str, Any]
Text = str | int


@dataclass(frozen=True)
class AnswerTable:
    """What a file says, in the order of its rows.

    `labels` holds a label or a list of labels a row, `scores` one number for each of `classes` a row, `single` the score
    of the class `positive` a row. `order` is the order in which named columns of scores are written. `more` holds further
    columns by name, such as split and weight. `extra` is the row that has one score too many.
    """

    ids: Sequence[Text | None]
    classes: Sequence[str] = ()
    labels: Sequence[Any] | None = None
    several: bool = False
    scores: Sequence[Sequence[Any]] | None = None
    order: Sequence[int] = ()
    single: Sequence[Any] | None = None
    positive: str = ""
    more: dict[str, Sequence[Any]] = field(default_factory=dict)
    extra: int | None = None

    @property
    def n(self) -> int:
        return len(self.ids)

    @property
    def label_field(self) -> str:
        return "labels" if self.several else "label"

    @property
    def scored(self) -> bool:
        return self.scores is not None or self.single is not None

    @property
    def names(self) -> list[str]:
        """The classes in the order of the columns."""
        return [self.classes[at] for at in self.order or range(len(self.classes))]

    def in_normal_form(self, form: Any) -> "AnswerTable":
        """The same in another Unicode normal form."""

        def turn(value: Any) -> Any:
            if isinstance(value, list):
                return [turn(one) for one in value]
            return unicodedata.normalize(form, value) if isinstance(value, str) else value

        labels = None if self.labels is None else turn(list(self.labels))
        classes, positive = turn(list(self.classes)), turn(self.positive)
        return replace(self, ids=turn(list(self.ids)), classes=classes, labels=labels, positive=positive)

    def row(self, at: int, *, named: bool) -> list[tuple[str, Any]]:
        """The scores of a row with their classes, in the order of the columns or of the vocabulary."""
        assert self.scores is not None
        places = self.order if named and self.order else range(len(self.classes))
        found = [(self.classes[k], self.scores[at][k]) for k in places if self.scores[at][k] is not NO_SCORE]
        return [*found, (EXTRA_CLASS, 0.0)] if self.extra == at else found


def pointer_token(text: object) -> str:
    """A token of an RFC 6901 pointer with its slash."""
    return "/" + str(text).replace("~", "~0").replace("/", "~1")


@dataclass(frozen=True)
class FormatWriter:
    """A way to write data: the format and layout to read it with, the bytes, and the places of what they hold.

    `location` takes the data, a row, a field (id, label, score, or the name of a further column) and an item: the position
    of a label in its set, or of a class in the vocabulary.
    """

    kind: str
    write: Callable[[AnswerTable], bytes]
    location: Callable[[AnswerTable, int, str, int | None], Location]
    fits: Callable[[AnswerTable], bool]
    layout: str = ""


def field_name(data: AnswerTable, part: str, *, id_name: str = "id", lists: bool = False) -> str:
    score = "score" if data.single is not None and not lists else "scores"
    return {"id": id_name, "label": data.label_field, "score": score}.get(part, part)
