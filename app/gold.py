"""Gold, ready for scoring: from a file to arrays in the order of the ids."""

import gc
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.errors import InvalidContent
from app.formats.column_data import NormalizedTable
from app.formats.content.utf8_decoding import to_nfc
from app.formats.normalize import SPLITS
from app.formats.problems import Problems, TooManyProblems
from app.formats.reading_rules import DEFAULT_LIMITS, Limits, ReadingRules
from app.formats.source_file import SourceFile, read_source
from app.formats.validation import gold_validation as gold_rules
from app.formats.validation.table_validation import validate_table
from app.formats.vectorized.id_join import LookupTables
from app.formats.vectorized.labels import read_gold
from app.scoring.declaration.gold_metadata import build_grouping, build_task_spec, build_unknown_cells
from app.scoring.declaration.metric_syntax import pluralize
from app.scoring.declaration.task import TaskKind, TaskSpec
from app.scoring.evaluate import BestAttainableValues
from app.scoring.evaluation_input import EvaluationInput, Grouping, IdIndex, Labels
from app.scoring.string_table import StringTable

_UNSCORED = "not scored"


@dataclass(slots=True)
class Gold:
    """Gold that is ready for scoring: n ids, their labels, and what else the metrics need.

    Everything is in the order of the ids' code points, so that no output can reveal the order of the file, which often
    depends on labels or splits.
    """

    index: IdIndex
    spec: TaskSpec
    labels: Labels
    splits: NDArray[np.int8] | None = None
    """Per id 0 for public, 1 for private; None without splits."""
    weights: NDArray[np.int64] | None = None
    """Per id its weight as an integer number of units; None where all weights are the same."""
    void: Collection[str] = frozenset()
    template_ids: Sequence[str] = ()
    """All ids of the file, including those that are not scored, in the order of code points: the ids of a template."""
    notes: list[str] = field(default_factory=list)
    folds: Grouping | None = None
    groups: Grouping | None = None
    unknown: Labels | None = None
    """The labels of each id that the gold leaves open; None where it leaves none open."""
    ceilings: dict[str, BestAttainableValues] = field(default_factory=dict)
    """Per split, values that depend on this gold alone and have been computed already."""
    derived: dict[str, Any] = field(default_factory=dict)
    """By name, what else was computed from this gold alone."""
    tables: LookupTables | None = None
    """Ids and classes for the vectorized readers; None where they do not fit into lookup tables."""
    lacking_ids: Sequence[str] = ()
    """The void ids that the file lacks, sorted; known while it is read."""
    known_ids: StringTable | None = None
    """The ids followed by the void ones, for files that have all of them; None without void ids, or if they do not fit."""
    weight_unit: Fraction = Fraction(1)
    """The weight in the gold file that one unit of `weights` stands for."""
    reading_notes: Sequence[str] = ()
    """What a vectorized reader tolerated in the file; among `notes`, too."""

    @property
    def ids(self) -> list[str]:
        """The ids, in the order of all arrays."""
        return self.index.ids

    def case(
        self, labels: Labels, scores: NDArray[np.float64] | None = None, *, probabilities: bool = True
    ) -> EvaluationInput:
        """The evaluation input of predictions, in gold order; `probabilities`: whether scores may be taken as such."""
        divisions = self.weights, self.folds, self.groups, self.weight_unit, self.unknown, probabilities
        return EvaluationInput(self.spec, self.labels, labels, scores, *divisions)

    def class_counts(self) -> dict[str, list[int]]:
        """Per split, or under 'all' without splits, how many instances have each class; a repeated label counts once."""
        labels, classes = self.labels.as_sets(), len(self.spec.classes)
        rows = np.repeat(np.arange(labels.n), labels.sizes)
        known = (labels.codes >= 0) & (labels.codes < classes)
        rows, codes = np.divmod(np.unique(rows[known] * classes + labels.codes[known]), classes)
        if self.splits is None:
            return {"all": np.bincount(codes, minlength=classes).tolist()}
        return {
            name: np.bincount(codes[self.splits[rows] == number], minlength=classes).tolist()
            for number, name in enumerate(("public", "private"))
        }

    def rows_by_split(self) -> dict[str, NDArray[np.int64] | None]:
        """The row numbers of each split that gets scores; None means all rows."""
        rows: dict[str, NDArray[np.int64] | None] = {"all": None}
        if self.splits is not None:
            rows |= {name: np.flatnonzero(self.splits == code) for code, name in enumerate(SPLITS)}
        return rows


def build_lookup_tables(index: IdIndex, classes: Sequence[str]) -> LookupTables | None:
    """Ids and classes for the vectorized readers; None where they do not fit into lookup tables."""
    codes = None if index.table is None else StringTable.build(classes)
    return None if index.table is None or codes is None else LookupTables(index.table, codes)


@contextmanager
def garbage_collection_paused() -> Iterator[None]:
    """Pause the cyclic garbage collector while many small objects without cycles are created."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def normalize_distinct(texts: Iterable[str]) -> tuple[str, ...]:
    """Texts in Unicode NFC, in which ids and labels are compared; raises InvalidContent if two become equal."""
    normalized = tuple(to_nfc(text, len(text)) for text in texts)
    if len(set(normalized)) != len(normalized):
        repeated = Counter(normalized).most_common(1)[0][0]
        raise InvalidContent(f"'{repeated}' is listed twice.", remedy="List each id or label once.")
    return normalized


def load_gold(
    source: SourceFile,
    *,
    task: TaskKind,
    classes: Sequence[str] | None = None,
    positive_label: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    void: Iterable[str] = (),
    earlier_ids: Iterable[str] = (),
    rules: ReadingRules | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> tuple[Gold | None, Problems]:
    """Read gold and validate it; the gold is None exactly where there are problems.

    Without `classes`, the sorted label set of the gold becomes the vocabulary. `metadata` holds canonical gold metadata
    by field (app.scoring.declaration.gold_metadata). `void` ids are not scored, nor are those that the file marks so, nor
    `earlier_ids`, those that earlier versions of the gold held, where the file lacks them (NFC).
    Of `rules` only `duplicates` applies to gold. Raises InvalidContent if `classes` or `void` list something twice, and
    if folds or groups lack an id or unknown cells do not fit the gold.
    """
    problems = Problems()
    spec = normalized_task_spec(task, classes, positive_label, metadata or {})
    void = normalize_distinct(void)
    with garbage_collection_paused(), suppress(TooManyProblems):
        settings: dict[str, Any] = {"declared": classes is not None, "limits": limits}
        gold = None if void else load_plain_gold(source, spec, **settings)
        if gold is None:
            gold = _load_strictly(source, spec, void, rules or ReadingRules(), **settings, problems=problems)
        elif classes is None:
            gold.notes.insert(len(gold.reading_notes), vocabulary_note(gold.spec, "the gold"))
        if gold is not None:
            _add_void_ids(gold, earlier_ids)
            assign_instance_metadata(gold, metadata or {})
        return gold, problems
    return None, problems


def _add_void_ids(gold: Gold, earlier_ids: Iterable[str]) -> None:
    """Make the ids that the file lacks void, and build the table of all ids where some are void.

    Templates list them too: a template tells nobody which instances became void, and whoever answers them all has an
    answer if an instance is scored again.
    """
    known = set(earlier_ids)
    lacking = sorted(known.difference(gold.template_ids)) if known else []
    if lacking:
        gold.lacking_ids = lacking
        gold.void = frozenset(gold.void).union(lacking)
        gold.template_ids = sorted([*gold.template_ids, *lacking])
        which = "which an earlier version has, is" if len(lacking) == 1 else "which earlier versions have, are"
        gold.notes.append(
            f"{pluralize(len(lacking), 'instance', 'instances')}, {which} not in the file, so {_UNSCORED}"
        )
    if gold.void:
        gold.known_ids = StringTable.build([*gold.ids, *sorted(gold.void)])


def load_plain_gold(
    source: SourceFile, spec: TaskSpec, *, declared: bool, limits: Limits, sort: bool = True
) -> Gold | None:
    """The gold of a file without any problem or void instance; None where the strict reader must read it.

    `declared`: the classes of `spec` were declared separately; otherwise the labels of the file become its classes.
    Without `sort` the instances stay in the order of the file, which no output may reveal unless its reader has it.
    """
    classes = spec.classes if declared else None
    with source.path.open("rb") as stream:
        found = read_gold(stream, source.kind, task=spec.task, classes=classes, limits=limits, sort=sort)
    if found is None:
        return None
    spec = replace(spec, classes=found.classes)
    if not gold_rules.is_valid_vocabulary(spec, limits):
        return None
    index = IdIndex.from_table(found.tables.ids)
    gold = Gold(index, spec, found.labels, found.splits, found.weights, template_ids=index.lazy_ids)
    gold.tables, gold.weight_unit = found.tables, found.weight_unit
    gold.reading_notes = tuple(found.notes)
    gold.notes = [*found.notes, *_notes_on(gold)]
    return gold


def _load_strictly(
    source: SourceFile,
    spec: TaskSpec,
    void: Sequence[str],
    rules: ReadingRules,
    *,
    declared: bool,
    limits: Limits,
    problems: Problems,
) -> Gold | None:
    table = read_source(source, spec, gold=True, problems=problems, limits=limits, declared=declared)
    void_ids = find_void_ids(table, spec.task, void)
    if not declared:
        spec = replace(spec, classes=gold_rules.label_set(table, void_ids))
        table.notes.append(vocabulary_note(spec, "the gold"))
    gold_rules.check_not_empty(table, void_ids, problems)
    gold_rules.check_vocabulary(table, spec, declared=declared, limits=limits, problems=problems)
    index = IdIndex(gold_rules.scored_ids(table, void_ids))
    return build_gold(table, index, spec, void=void_ids, rules=rules, problems=problems)


def vocabulary_note(spec: TaskSpec, files: str) -> str:
    """The note that says from which files the classes were taken."""
    labels = f"the sorted labels of {files} ({len(spec.classes)})"
    return f"no classes were declared: {labels} are the vocabulary"


def assign_instance_metadata(gold: Gold, metadata: Mapping[str, Any]) -> None:
    """Give the instances their folds, groups and unknown cells, where there are some; raises InvalidContent."""
    for name in ("folds", "groups"):
        if metadata.get(name) is not None:  # the ids are not read otherwise, as they may have to be decoded first
            setattr(gold, name, build_grouping(metadata[name], name, gold.ids))
    if metadata.get("unknown_cells") is not None:
        unscored = {*gold.void, *gold.template_ids} if len(gold.template_ids) != len(gold.ids) else gold.void
        gold.unknown = build_unknown_cells(metadata["unknown_cells"], gold.spec, gold.ids, gold.labels, unscored)


def find_void_ids(table: NormalizedTable, task: TaskKind, void: Iterable[str]) -> frozenset[str]:
    """The ids that are not scored: those given separately, and those that the gold file excludes (noted)."""
    void_ids = set(void)
    for reason, names in gold_rules.unscored_ids(table, task).items():
        void_ids.update(names)
        table.notes.append(f"{pluralize(len(names), 'instance is', 'instances are')} {_UNSCORED}: {reason}")
    return frozenset(void_ids)


def is_fully_scored(notes: Iterable[str]) -> bool:
    """Whether all instances of a gold file are scored, judging from its notes."""
    return not any(_UNSCORED in note for note in notes)


def normalized_task_spec(
    task: TaskKind, classes: Sequence[str] | None, positive_label: str | None, metadata: Mapping[str, Any]
) -> TaskSpec:
    """The task with labels in NFC; raises InvalidContent if a class is listed twice."""
    positive = None if positive_label is None else normalize_distinct([positive_label])[0]
    return build_task_spec(task, normalize_distinct(classes or ()), positive, metadata)


def build_gold(
    table: NormalizedTable,
    index: IdIndex,
    spec: TaskSpec,
    *,
    void: frozenset[str],
    rules: ReadingRules,
    problems: Problems,
) -> Gold | None:
    """Build gold from a table, in the order of the index of its scored ids; None if it has problems."""
    gold_rules.check_void_ids_distinct(table, void, problems)
    reading_rules = ReadingRules(duplicates=rules.duplicates)
    arrays = validate_table(table, index, spec, rules=reading_rules, void=void, problems=problems)
    weights = gold_rules.integer_weights(table, void, problems)
    if arrays is None or arrays.labels is None or problems:
        return None
    splits = gold_rules.split_codes(table, void)
    gold = Gold(
        index,
        spec,
        arrays.labels,
        None if splits is None else gold_rules.align_to_index(splits, table, void, index),
        None if weights is None else gold_rules.align_to_index(weights[0], table, void, index),
        void,
        gold_rules.scored_ids(table, ()) if void else index.ids,
        tables=build_lookup_tables(index, spec.classes),
        weight_unit=Fraction(1) if weights is None else weights[1],
    )
    gold.notes = [*table.notes, *_notes_on(gold)]
    return gold


def _notes_on(gold: Gold) -> list[str]:
    """What users should know of valid gold."""
    notes = []
    if gold.spec.task != "multilabel" and gold.labels.offsets is not None:
        limitation = "only metrics that are defined for them have values"
        notes.append(f"the gold gives sets of acceptable answers: {limitation}")
    if gold.splits is not None and gold.splits.all():
        notes.append("no instance is public: until the final release of the phase, only organizers see scores")
    if gold.weights is not None:
        notes.append("the instances have weights: all counts are sums of weights")
    return notes
