"""Tables of answers drawn at random: odd texts, any order of rows and columns, labels, sets and scores."""

import unicodedata
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from app.formats.reading_rules import ReadingRules
from app.scoring.declaration.task import TaskKind
from tests.formats.answer_table import AnswerTable, FormatWriter
from tests.formats.reading import code_sets, read_answers
from tests.formats.table_writers import HEADER_WORDS

ODD = st.sampled_from(list("\"',;\t\n\r\x85\u2028~/ é\u212b\ufeff0🙂"))
characters = st.characters(codec="utf-8", exclude_characters="\0|") | ODD
nfc_texts = (
    st.text(characters, min_size=1, max_size=6).map(lambda text: unicodedata.normalize("NFC", text)).filter(bool)
)
ids = st.lists(nfc_texts, min_size=1, max_size=6, unique=True) | st.lists(
    st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=6, unique=True
)
scores = st.floats(allow_nan=False, allow_infinity=False)
float32_scores = st.floats(allow_nan=False, allow_infinity=False, width=32)


def as_nfc(text: object) -> str:
    """An id or label as answers name it."""
    return unicodedata.normalize("NFC", str(text))


@dataclass(frozen=True)
class DrawnAnswers:
    """Data and the expected result: ids and labels in the order of the gold, and the matrix of scores."""

    task: TaskKind
    data: AnswerTable
    ids: list[str]
    codes: list[list[int]] | None
    matrix: NDArray[np.float64] | None

    def read(self, raw: bytes, writer: FormatWriter, encoding: str = "", **how: Any) -> Any:
        """Read a file as predictions for these ids."""
        how.setdefault("rules", ReadingRules(scores="due" if self.data.scored else "ignored"))
        return read_answers(
            raw,
            writer.kind,
            ids=self.ids,
            classes=self.classes,
            task=self.task,
            positive_label=self.positive or None,
            encoding=encoding,
            layout=writer.layout,
            **how,
        )

    @property
    def classes(self) -> list[str]:
        return [as_nfc(name) for name in self.data.classes]

    @property
    def positive(self) -> str:
        return as_nfc(self.data.positive)

    def assert_read(self, raw: bytes, writer: FormatWriter, encoding: str = "") -> None:
        """Assert that a file is read without problems, and as these arrays to the bit."""
        found, problems = self.read(raw, writer, encoding)
        assert problems.to_dict()["problems"] == [], writer
        assert found is not None
        if self.codes is None:
            assert found.labels is None
        else:
            assert code_sets(found.labels) == self.codes
        if self.matrix is None:
            assert found.scores is None
        else:
            assert found.scores is not None
            assert found.scores.dtype == np.float64
            assert found.scores.tobytes() == self.matrix.tobytes()  # -0.0 is not 0.0 here


def _labels(draw: st.DrawFn, vocabulary: list[str], task: TaskKind) -> Any:
    if task == "multilabel":
        return draw(st.lists(st.sampled_from(vocabulary), unique=True, max_size=len(vocabulary)))
    return draw(st.sampled_from(vocabulary))


@st.composite
def drawn_answers(
    draw: st.DrawFn,
    task: TaskKind,
    *,
    scored: bool,
    numbers: st.SearchStrategy[float] = scores,
    labelled: bool | None = None,
) -> DrawnAnswers:
    """Any answers of a task; with scores there may be labels too."""
    some = nfc_texts.filter(lambda text: text not in HEADER_WORDS)
    size = {"min_size": 2, "max_size": 2} if task == "binary" else {"min_size": 2 if scored else 1, "max_size": 5}
    vocabulary = draw(st.lists(some, unique=True, **size))  # type: ignore[arg-type]
    names = draw(ids)
    n, m = len(names), len(vocabulary)
    gives = not scored or (draw(st.booleans()) if labelled is None else labelled)
    labels = [_labels(draw, vocabulary, task) for _ in names] if gives else None
    single = scored and task == "binary" and draw(st.booleans())
    width = 1 if single else m
    rows = draw(st.lists(st.lists(numbers, min_size=width, max_size=width), min_size=n, max_size=n)) if scored else None
    data = AnswerTable(
        names,
        vocabulary,
        labels,
        task == "multilabel",
        scores=None if single else rows,
        order=draw(st.permutations(range(m))),
        single=[row[0] for row in rows] if single and rows else None,
        positive=draw(st.sampled_from(vocabulary)) if task == "binary" else "",
    )
    place = draw(st.permutations(range(n)))  # the row of each known id
    codes = None
    if labels is not None:
        listed = [one if isinstance(one, list) else [one] for one in labels]
        codes = [[vocabulary.index(name) for name in listed[at]] for at in place]
    matrix = None if rows is None else np.array([rows[at] for at in place], dtype=np.float64)
    return DrawnAnswers(
        task,
        data.in_normal_form(draw(st.sampled_from(["NFC", "NFD"]))),
        [str(names[at]) for at in place],
        codes,
        matrix,
    )
