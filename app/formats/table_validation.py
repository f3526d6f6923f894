"""Tables to arrays: every id and label checked against the known ids and classes.

Works the same with and without gold labels at hand, so a dry run, the command line and scoring answer alike; no
message depends on a gold label.
"""

import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from app.formats.columns import GivenScores, Table
from app.formats.layouts import KeyedMap
from app.formats.problems import END, LISTED, Place, Problem, Problems, TooManyProblems, problem, quote
from app.formats.reading_rules import Rules
from app.formats.score_matrix import resolve
from app.formats.suggestions import Near
from app.formats.vocabulary import Vocabulary
from app.scoring.declaration.metric_syntax import counted
from app.scoring.declaration.task import TaskSpec
from app.scoring.evaluation_input import NOTHING, IdIndex, Labels, Predicted

_JOINT = re.compile(r"[|,;]")
"""What labels are joined by, rightly or not."""


def check(
    table: Table,
    known: IdIndex,
    spec: TaskSpec,
    *,
    rules: Rules,
    void: Collection[str] = (),
    problems: Problems,
) -> Predicted | None:
    """Join a table with the known ids, and turn labels into codes (positions in the classes) and scores into a matrix.

    Returns what the file says of n instances in the order of `known`; None where the problems are such that nothing
    may be scored. `void` ids are ignored and need not be given.
    """
    with suppress(TooManyProblems):
        return _checked(table, known, spec, rules=rules, void=void, problems=problems)
    return None


def _checked(
    table: Table, known: IdIndex, spec: TaskSpec, *, rules: Rules, void: Collection[str], problems: Problems
) -> Predicted | None:
    codes = {label: code for code, label in enumerate(spec.classes)}
    joined = _quick(table, known, codes)
    if joined is None:
        joined = _RowLoop(table, known, codes, rules, void, problems).run()
    scores = None
    if table.scores is not None:
        vocabulary = Vocabulary(spec.classes, spec.positive_label, exclusive=spec.task != "multilabel")
        matrix = resolve(_unvoided(table, void), vocabulary, probabilities=rules.probabilities, problems=problems)
        scores = None if problems else joined.place(matrix, len(known))
    elif rules.scores == "due" and table.unreadable != END:
        problems.add(_no_scores(spec))
    return None if problems else Predicted(joined.labels, scores)


def _unvoided(table: Table, void: Collection[str]) -> Table:
    """The table without the rows of void ids: whatever their scores are, they are ignored."""
    if table.scores is None or not any(name in void for name in table.ids):
        return table
    kept = [at for at, name in enumerate(table.ids) if name not in void]
    values = table.scores.values
    scores = values[kept] if isinstance(values, np.ndarray) else [values[at] for at in kept]
    return replace(
        table,
        ids=[table.ids[at] for at in kept],
        rows=[table.rows[at] for at in kept],
        scores=GivenScores(scores, table.scores.names),
    )


def _no_scores(spec: TaskSpec) -> Problem:
    example = '"score": 0.7' if spec.task == "binary" else '"scores": {"a": 0.7, "b": 0.3}'
    message = (
        "The file gives no scores, which the primary metric needs. Give each instance one for each class, such as "
    )
    return problem("wrong_shape", f"{message}{example}.", Place(), expected="scores", got="labels alone")


@dataclass(frozen=True, slots=True)
class _Joined:
    """Which instance each row of a file describes (rows of void ids aside), and the labels by instance, if it has some."""

    labels: Labels | None
    targets: NDArray[np.int32]

    def place(self, values: NDArray[np.float64], n: int) -> NDArray[np.float64]:
        """Put the scores of file rows where they belong; NaN for instances that no row describes."""
        if np.array_equal(self.targets, np.arange(n)):
            return values
        placed = np.full((n, values.shape[1]), np.nan)
        placed[self.targets] = values
        return placed


def _quick(table: Table, known: IdIndex, codes: dict[str, int]) -> _Joined | None:
    """The join of a table with which nothing at all is odd."""
    if len(table.ids) != len(known) or None in table.ids or table.unreadable:
        return None
    ids = [name for name in table.ids if name is not None]
    targets = known.rows(ids)
    if len(targets) and (int(targets.min()) < 0 or int(np.bincount(targets, minlength=len(known)).max()) > 1):
        return None
    if table.labels is None:
        return _Joined(None, targets)
    look = codes.get
    try:
        found = np.fromiter(map(look, table.labels), dtype=np.int32, count=len(table.labels))  # type: ignore[arg-type]
    except TypeError:  # an unknown label has the code None
        return None
    if table.counts is not None and repeats(found, table.counts, len(codes)):
        return None
    return _Joined(assemble(targets, found, table.counts, len(known)), targets)


def repeats(codes: NDArray[np.int32], counts: Sequence[int], m: int) -> bool:
    """Whether any set of labels, of m classes, holds one twice."""
    if counts and max(counts) > m:
        return True
    owner = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    keys = np.sort(owner * m + codes)
    return bool((keys[1:] == keys[:-1]).any())


def assemble(targets: NDArray[np.int32], codes: NDArray[np.int32], counts: Sequence[int] | None, n: int) -> Labels:
    """Put the labels of file rows where they belong: file row i describes instance targets[i] of n."""
    if counts is None:
        placed = np.full(n, NOTHING, dtype=np.int32)
        placed[targets] = codes
        return Labels(placed)
    sizes = np.asarray(counts, dtype=np.int64)
    offsets = np.zeros(len(sizes) + 2, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:-1])
    offsets[-1] = offsets[-2]  # one empty row at the end, for instances that no row describes
    source = np.full(n, len(sizes), dtype=np.int64)
    source[targets] = np.arange(len(sizes))
    return Labels(codes, offsets).take(source)


@dataclass(slots=True)
class _RowLoop:
    """Row by row, reporting every fault, in file order."""

    table: Table
    known: IdIndex
    codes: dict[str, int]
    rules: Rules
    void: Collection[str]
    problems: Problems
    near_ids: Near = field(init=False)
    near_labels: Near = field(init=False)
    seen: dict[str, int] = field(default_factory=dict)
    outside: int = 0

    def __post_init__(self) -> None:
        self.near_ids = Near(self.known.ids)
        self.near_labels = Near(self.codes)

    def run(self) -> _Joined:
        """Check all rows, then what is missing."""
        table = self.table
        targets: list[int] = []
        codes: list[int] = []
        counts: list[int] | None = None if table.counts is None else []
        start = 0
        rows = self.known.rows([name or "" for name in table.ids]).tolist()  # no id is empty
        for number, (row, name) in enumerate(zip(table.rows, table.ids, strict=True)):
            size = 1 if table.counts is None else table.counts[number]
            labels = None if table.labels is None else table.labels[start : start + size]
            start += size
            target = self._target(row, name, rows[number])
            if name is not None and target == NOTHING and name in self.void:
                continue
            found = [] if labels is None else self._codes(row, name, labels, several=counts is not None)
            if target != NOTHING:
                targets.append(target)
                codes.extend(found)
                if counts is not None:
                    counts.append(len(found))
        self._missing(targets)
        self._note(len(self.known) - len(targets))
        found_at = np.asarray(targets, dtype=np.int32)
        if table.labels is None:
            return _Joined(None, found_at)
        placed = assemble(found_at, np.asarray(codes, dtype=np.int32), counts, len(self.known))
        return _Joined(placed, found_at)

    def _target(self, row: int, name: str | None, target: int) -> int:
        """Which known instance a row describes; NOTHING for none, or for one that was described before."""
        if name is None:
            return NOTHING
        if target == NOTHING:
            if name not in self.void:
                self.problems.report("unknown_id", row, lambda: self._unknown_id(row, name))
        elif name in self.seen:
            first = self.seen[name]
            code = "duplicate_key" if self._same_key(row, first) else "duplicate_id"
            self.problems.report(code, row, lambda: self._repeated_id(code, row, first, name))
            return NOTHING
        else:
            self.seen[name] = row
        return target

    def _same_key(self, row: int, first: int) -> bool:
        layout = self.table.layout
        return isinstance(layout, KeyedMap) and layout.keys[row] == layout.keys[first]

    def _codes(self, row: int, name: str | None, labels: Sequence[str | None], *, several: bool) -> list[int]:
        found: Sequence[int | None] = list(map(self.codes.get, labels))  # type: ignore[arg-type]
        once = len(set(labels)) == len(labels)
        if once and None in found and self.rules.unknown_label != "reject" and None not in labels:
            self.outside += found.count(None)
            if self.rules.unknown_label == "drop":
                found = [code for code in found if code is not None]
            else:
                found = [len(self.codes) if code is None else code for code in found]
        elif not once or None in found:
            found = self._odd(row, name, labels, found, several=several)
        return found if several or found else [NOTHING]  # type: ignore[return-value]

    def _odd(
        self, row: int, name: str | None, labels: Sequence[str | None], found: Sequence[int | None], *, several: bool
    ) -> list[int]:
        """The codes of labels some of which are unknown or come twice: what the rules leave of them, or a problem each."""
        rules, kept, seen = self.rules, list[int](), set[str]()
        order, report = self.table.layout.order, self.problems.report
        for item, (label, code) in enumerate(zip(labels, found, strict=True)):
            if label is None:
                continue
            again = label in seen
            if again and rules.duplicates != "multiset":
                if rules.duplicates == "reject":
                    at = item if several else None
                    report("duplicate_label", order(row, at), partial(self._twice, row, at, name, label))
                continue
            seen.add(label)
            if code is not None:
                kept.append(code)
            elif rules.unknown_label == "reject":
                at = item if several else None
                report("unknown_label", order(row, at), partial(self._unknown, row, at, name, label))
            else:
                self.outside += 1
                if rules.unknown_label == "count_as_fp":
                    kept.append(len(self.codes) + again)
        return kept

    def _note(self, absent: int) -> None:
        """Say what the conventions of the recipe let pass: nothing is dropped in silence."""
        if self.outside:
            done = "dropped" if self.rules.unknown_label == "drop" else "counted as false positives"
            what = counted(self.outside, "label outside the vocabulary was", "labels outside the vocabulary were")
            rule = f"unknown_label={self.rules.unknown_label}"
            self.table.notes.append(f"{what} {done} ({rule})")
        if absent > 0 and self.rules.missing != "reject":
            rule = f"missing={self.rules.missing}"
            what = counted(absent, "instance without a prediction counts", "instances without a prediction count")
            self.table.notes.append(f"{what} as empty predictions ({rule})")

    def _missing(self, targets: list[int]) -> None:
        """Report known ids without a row; of a file that holds no readable table at all, nothing is known to be missing."""
        absent = np.ones(len(self.known), dtype=bool)
        absent[np.asarray(targets, dtype=np.int64)] = False
        rows = np.flatnonzero(absent)
        if self.rules.missing != "reject" or self.table.unreadable == END:
            return
        first = rows[:LISTED].tolist()
        ends = [END] * len(first)
        self.problems.report_all(
            "missing_instances", ends, lambda n: self._missing_id(self.known.ids[first[n]]), len(rows)
        )

    # ---- the problems, built only for those that are listed --------------------------------------

    def _unknown_id(self, row: int, name: str) -> Problem:
        near = self.near_ids.of(name)
        mend = (
            f"Did you mean {quote(near)}?"
            if near is not None
            else "Take the ids from the template, or from the list of ids."
        )
        message = f"{quote(name)} is not among the expected ids. {mend}"
        place = self.table.layout.place(row, "id")
        return problem("unknown_id", message, place, instance_id=name, expected=_optional(near), got=quote(name))

    def _missing_id(self, name: str) -> Problem:
        message = f"There is no prediction for {quote(name)}. Add one; every expected id needs exactly one."
        if self.table.unreadable:
            message += " (Perhaps it is meant by a row whose id could not be read.)"
        return problem("missing_instances", message, Place(), instance_id=name)

    def _repeated_id(self, code: str, row: int, first: int, name: str) -> Problem:
        earlier = self.table.layout.place(first, "id")
        where = f"line {earlier.line}" if earlier.line else f"{earlier.pointer}"
        message = f"{quote(name)} stands at {where} already. Give each id once (ids are compared after Unicode NFC)."
        return problem(code, message, self.table.layout.place(row, "id"), instance_id=name, got=quote(name))

    def _twice(self, row: int, item: int | None, name: str | None, label: str) -> Problem:
        message = f"{quote(label)} is given twice for this instance. Give each label once."
        place = self.table.layout.place(row, "label", item)
        return problem("duplicate_label", message, place, instance_id=name, got=quote(label))

    def _unknown(self, row: int, item: int | None, name: str | None, label: str) -> Problem:
        parts = [part.strip() for part in _JOINT.split(label)]
        joined = len(parts) > 1 and all(part in self.codes for part in parts)
        near = None if joined else self.near_labels.of(label)
        mend = f"Did you mean {quote(near)}?" if near is not None else "Use one of the labels of the vocabulary."
        if joined:
            several = "Give each label of its own: in a list, or in a table joined by |."
            mend = several if self.table.counts is not None else "One label is due here."
        message = f"{quote(label)} is not in the vocabulary (labels are compared exactly). {mend}"
        place = self.table.layout.place(row, "label", item)
        expected = _optional(near) or _vocabulary(list(self.codes))
        return problem("unknown_label", message, place, instance_id=name, expected=expected, got=quote(label))


def _optional(text: str | None) -> str | None:
    return None if text is None else quote(text)


def _vocabulary(classes: Sequence[str]) -> str:
    shown = ", ".join(quote(label) for label in classes[:10])
    return shown if len(classes) <= 10 else f"{shown}, … ({len(classes)} labels)"
