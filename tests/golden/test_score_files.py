"""Real files of scores, read in every format: the same arrays; and labels that follow from scores."""

from functools import cache

import numpy as np
import pytest

from app.formats.reading_rules import ReadingRules
from app.scoring.declaration.decision_rules import ConfiguredDecisionRule, decide_labels
from app.scoring.declaration.task import TaskKind, TaskSpec
from tests.each_case import for_each
from tests.formats.answer_table import AnswerTable
from tests.formats.reading import code_sets, compress, read_answers
from tests.formats.writers import WRITERS
from tests.golden.reference_data import challenge_folder, read_json
from tests.hypothesis_profiles import is_thorough
from tests.reference_material import needs_shared

pytestmark = needs_shared
SYSTEMS: list[tuple[str, str, TaskKind]] = [
    ("cifar10-label-errors", "cleanlab-cv", "multiclass"),
    ("cifar10-label-errors", "cifar10h-humans", "multiclass"),
    ("litcovid", "sample-system", "multilabel"),
]


ROWS = 2500 if is_thorough() else 300
"""More are enough for several windows of the usual size; the vectorized readers also read with very small ones."""


@cache
def data_of(name: str, system: str, task: TaskKind) -> AnswerTable:
    """The first rows of the file as a table, its named columns in reverse order."""
    rows = read_json(challenge_folder(name) / "predictions" / f"{system}.json.gz")[:ROWS]
    classes = read_json(challenge_folder(name) / "classes.json")
    several = task == "multilabel"
    return AnswerTable(
        [row["id"] for row in rows],
        classes,
        [row["labels" if several else "label"] for row in rows],
        several,
        scores=[row["scores"] for row in rows],
        order=list(range(len(classes)))[::-1],
    )


@pytest.mark.ci
@for_each("name, system, task", SYSTEMS)
def test_a_real_file_of_scores_is_the_same_in_every_format(name: str, system: str, task: TaskKind) -> None:
    data = data_of(name, system, task)
    expected = np.array(data.scores, dtype=np.float64)
    for number, (way, writer) in enumerate(WRITERS.items()):
        if way in {"map", "arrow in parts", "parquet in parts", "arrow in parts, lists", "parquet in parts, lists"}:
            continue  # batches of two rows take long
        if not writer.fits(data):
            continue
        encoding = ("", "gzip", "zstd")[number % 3]
        found, problems = read_answers(
            compress(writer.write(data), encoding),
            writer.kind,
            ids=[str(one) for one in data.ids],
            classes=data.classes,
            task=task,
            encoding=encoding,
            rules=ReadingRules(scores="due", probabilities=True),
        )
        assert problems.to_dict()["problems"] == [], way
        assert found is not None
        assert found.labels is not None
        assert found.scores is not None
        assert found.scores.tobytes() == expected.tobytes(), way


def test_the_official_labels_of_litcovid_follow_from_its_scores() -> None:
    data = data_of("litcovid", "sample-system", "multilabel")
    assert data.scores is not None
    assert data.labels is not None
    rule = ConfiguredDecisionRule("threshold", threshold=0.5, strict=True)
    found = code_sets(decide_labels(rule, TaskSpec("multilabel", tuple(data.classes)), np.array(data.scores), 0))
    assert [{data.classes[code] for code in codes} for codes in found] == [set(labels) for labels in data.labels]
