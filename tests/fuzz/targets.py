"""Invariants of reading that hold for all bytes: one function, for the fuzzer and for the tests."""

import io
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from app.formats.content.format_detection import FileKind
from app.formats.phase_size_limits import PhaseSize, limits_for_phase
from app.formats.problems import MAX_LISTED_PROBLEMS, PROBLEM_CODES, Problems
from app.formats.reading_rules import Limits, ReadingRules
from app.formats.registry import FORMATS
from app.formats.strict_reader import read_table
from app.formats.validation.table_validation import validate_table
from app.pipeline import SourceFile, infer_task
from app.scoring.declaration.task import TaskKind, TaskSpec
from app.scoring.evaluation_input import IdIndex, Labels, PredictionArrays
from tests.formats.reading import count_agreeing_windows, load_gold_both_ways

IDS = ("t1", "t2", "t3")
CLASSES = ("cat", "dog", "eel")
LIMITS, PAIR_LIMITS = (
    limits_for_phase(PhaseSize.of(IDS, CLASSES), Limits(expanded_bytes=1 << 20), pairs=pairs) for pairs in (False, True)
)
_BASE_CPU_SECONDS, _CPU_SECONDS_PER_BYTE, _CPU_SECONDS_PER_ROW = 4.0, 1e-4, 1e-3
"""Processor seconds of an input of the fuzzer, which makes the readers several times slower and reads each input often."""
TASKS: Mapping[TaskKind, TaskSpec] = {
    "binary": TaskSpec("binary", ("cat", "dog"), "cat"),
    "multiclass": TaskSpec("multiclass", ("cat", "dog", "eel")),
    "multilabel": TaskSpec("multilabel", ("cat", "dog", "eel")),
}
RULES = (
    ReadingRules(),
    ReadingRules(scores="used", probabilities=True),
    ReadingRules(unknown_label="count_as_fp", duplicates="multiset", missing="empty_prediction"),
)
TARGETS: Mapping[str, FileKind] = {
    **{name: FileKind(name) for name in FORMATS},
    "gzip": FileKind("jsonl", "gzip"),
    "zstd": FileKind("csv", "zstd"),
}
"""What is fuzzed, and how it is read: each format, and each encoding around one."""


@dataclass(frozen=True, slots=True)
class ReadingCase:
    """One way to read the same bytes."""

    kind: FileKind
    task: TaskKind
    gold: bool


def cases(target: str) -> list[ReadingCase]:
    """All ways to read a file of a target."""
    plain = TARGETS[target]
    found = [ReadingCase(plain, task, gold) for task in TASKS for gold in (False, True)]
    if FORMATS[plain.format].table:
        long = FileKind(plain.format, plain.encoding, "long")
        found += [ReadingCase(long, "multilabel", gold) for gold in (False, True)]
    return found


def check_input(data: bytes, kind: FileKind, task: TaskKind, gold: bool) -> bool:
    """Read a file in every applicable way and assert the invariants; whether it is valid."""
    if gold:
        return _gold(data, kind, task)
    valid = [_prediction(data, kind, TASKS[task], rules, twice=rules is RULES[0]) for rules in RULES]
    assert valid[0] or not valid[1], "scores that are not read cannot be wrong"
    return valid[0]


def _prediction(data: bytes, kind: FileKind, spec: TaskSpec, rules: ReadingRules, *, twice: bool) -> bool:
    found, said, notes = _checked(data, kind, spec, rules)
    if twice:
        assert _checked(data, kind, spec, rules)[1:] == (said, notes), "reading differs from one time to the next"
    _assert_sound(said, notes, data, kind)
    assert said["valid"] is (found is not None)
    if found is not None:
        _assert_complete(found, spec, rules)
    count_agreeing_windows(data, kind, spec, IDS, found, rules=rules, notes=notes, limits=LIMITS)
    return found is not None


def _checked(
    data: bytes, kind: FileKind, spec: TaskSpec, rules: ReadingRules
) -> tuple[PredictionArrays | None, dict[str, Any], list[str]]:
    problems = Problems()
    table = read_table(
        io.BytesIO(data),
        kind,
        task=spec.task,
        gold=False,
        problems=problems,
        classes=spec.classes,
        wants_scores=rules.scores != "ignored",
        limits=PAIR_LIMITS if kind.layout == "long" else LIMITS,
    )
    found = validate_table(table, IdIndex(IDS), spec, rules=rules, problems=problems)
    return found, problems.to_dict(), list(table.notes)


def _gold(data: bytes, kind: FileKind, task: TaskKind) -> bool:
    """Gold, with declared classes and without."""
    with tempfile.NamedTemporaryFile(prefix="assay-fuzz-") as file:
        file.write(data)
        file.flush()
        source = SourceFile(Path(file.name), kind)
        assert infer_task(source, limits=LIMITS) in TASKS
        valid = _loaded(data, source, task, declared=True)
        _loaded(data, source, task, declared=False)  # of which less may be valid: gold may lack a label
        return valid


def _loaded(data: bytes, source: SourceFile, task: TaskKind, *, declared: bool) -> bool:
    spec = TASKS[task]
    classes = spec.classes if declared else None
    found, problems = load_gold_both_ways(
        source, task=task, classes=classes, positive_label=spec.positive_label, limits=LIMITS
    )
    _assert_sound(problems.to_dict(), found.notes if found else [], data, source.kind)
    assert bool(problems) is (found is None)
    if found is None:
        return False
    n = len(found.ids)
    assert n == len(set(found.ids)) == len(found.index) == found.labels.n > 0
    assert set(found.ids) <= set(found.template_ids)
    assert found.splits is None or (found.splits.shape == (n,) and np.isin(found.splits, (0, 1)).all())
    assert found.weights is None or (found.weights.shape == (n,) and (found.weights >= 0).all() and found.weights.any())
    _assert_codes(found.labels, len(found.spec.classes), sets=task == "multilabel")
    return True


def assert_cheap(seconds: float, size: int) -> None:
    """No input takes more processor time than its bytes and the rows of the gold account for, all readings together."""
    most = _BASE_CPU_SECONDS + _CPU_SECONDS_PER_BYTE * size + _CPU_SECONDS_PER_ROW * len(IDS)
    assert seconds <= most, (
        f"{seconds:.2f} s for {size} bytes and gold of {len(IDS)} rows, where {most:.2f} are allowed"
    )


# ---- what must hold -----------------------------------------------------------------------------


def _assert_sound(said: Mapping[str, Any], notes: Sequence[str], data: bytes, kind: FileKind) -> None:
    """The answer can be sent, adds up, and points to places that exist."""
    json.dumps([said, list(notes)], ensure_ascii=False, allow_nan=False).encode()
    listed = said["problems"]
    assert said["valid"] is (not said["total"])
    assert all(count > 0 for count in said["total"].values())
    assert len(listed) == min(MAX_LISTED_PROBLEMS, sum(said["total"].values()))
    lines = None if kind.encoding else data.count(b"\n") + data.count(b"\r") + 1
    for found in listed:
        assert found["code"] in PROBLEM_CODES
        assert found["message"].endswith((".", "?", ")")), found
        assert len(found["message"]) < 1500
        assert f"{found.get('pointer', '')}/".startswith("/"), found  # empty: the whole document
        line, column = found.get("line", 1), found.get("column", 1)
        assert line >= 1
        assert column >= 1
        assert "column" not in found or "line" in found, found
        assert lines is None or line <= lines, found


def _assert_complete(found: PredictionArrays, spec: TaskSpec, rules: ReadingRules) -> None:
    """A valid file says something of each id: a label, a set of labels, or scores."""
    n, m = len(IDS), len(spec.classes)
    if found.labels is None:
        assert found.scores is not None
    else:
        assert found.labels.n == n
        most = m if rules.unknown_label == "reject" else m + 2
        _assert_codes(found.labels, most, sets=spec.task == "multilabel", absent=rules.missing != "reject")
    if found.scores is not None and rules.missing == "reject":
        assert found.scores.shape in {(n, m), (n, 1)}
        assert np.isfinite(found.scores).all()
        assert not rules.probabilities or ((found.scores >= 0) & (found.scores <= 1)).all()


def _assert_codes(labels: Labels, most: int, *, sets: bool, absent: bool = False) -> None:
    assert (labels.codes < most).all()
    assert (labels.codes >= (-1 if absent else 0)).all()
    assert (labels.offsets is not None) or not sets
