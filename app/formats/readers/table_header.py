"""Identifies the columns of a table by their names, including those of Kaggle and Hugging Face."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from app.formats.column_data import ReaderContext
from app.formats.content.utf8_decoding import to_nfc
from app.formats.content.wrong_format import TABLE_ON_ONE_LINE
from app.formats.problems import REDUCE_SIZE_REMEDY, Location, Problem, build_problem, quote
from app.formats.readers.gold_fields import gold_field_refusal, is_within_one_edit
from app.formats.value_locations import DelimitedTableLayout, FieldNames

DeferredProblem = tuple[str, Callable[[], Problem]]
"""The code of a problem, and a function that builds it if it will be listed."""
_SEPARATOR_NAMES = {";": "semicolon", "\t": "tab", "|": "vertical bar", ",": "comma"}
LABEL_ALIASES = frozenset({"prediction", "predicted", "pred", "target", "category", "class", "answer", "y_pred"})
"""What the labels of predictions may be called, in any case, in a table that has no other column but `id`."""


@dataclass(frozen=True, slots=True)
class TableHeader:
    """The meaning of the columns: `used` maps fields to positions, `scores` are the positions of the scores."""

    context: ReaderContext
    layout: DelimitedTableLayout
    width: int
    used: Mapping[str, int]
    scores: Sequence[int]
    score_names: Sequence[str] | None
    ignored: Sequence[str]


def read_header(
    names: Sequence[str], separator: str, context: ReaderContext, *, is_whole_text: bool = False
) -> TableHeader | None:
    """Identify the columns by the first line of a text; None, and problems, where they are not clear."""
    header, problems = identify_columns(names, context, separator=separator)
    if is_whole_text and len(names) > 2 and (header is None or _names_other_than_classes(header)):
        context.problems.add_new("syntax", TABLE_ON_ONE_LINE, Location(None, 1), expected="a line break")
        return None
    for code, build in problems:
        context.problems.report(code, 1, build)
    return header


def _names_other_than_classes(header: TableHeader) -> bool:
    """Whether columns were taken for scores that have no class, as where the header and the rows stand on one line."""
    classes = header.context.classes
    return classes is not None and not set(header.score_names or ()) <= set(classes)


def identify_columns(
    names: Sequence[str], context: ReaderContext, *, separator: str | None = None, has_score_lists: bool = False
) -> tuple[TableHeader | None, list[DeferredProblem]]:
    """Identify the columns by their names; otherwise None and the problems, as codes with functions that build them.

    `separator` separates the names on the first line of a text; without it they are named in another way, and the line
    of the problems means nothing. `has_score_lists`: the scores of all classes stand in a column that is not among these.
    """
    max_columns = context.limits.columns
    if len(names) > max_columns:
        message = f"There are {len(names)} columns; at most {max_columns} are allowed. {REDUCE_SIZE_REMEDY}"
        problem = build_problem("too_large", message, Location(None, 1), expected=f"at most {max_columns} columns")
        return None, [("too_large", lambda: problem)]
    if context.acceptable(names):
        context = replace(context, sets=True)
    columns = _identify_columns(names, context, has_score_lists=has_score_lists)
    problems = [*_repeated_column_problems(names), *_header_problems(names, columns, separator, context)]
    if problems:
        return None, problems
    if columns.label in names and columns.label.lower() in LABEL_ALIASES and not context.gold:
        context.notes.append(label_alias_note(columns.label))
    return _build_header(names, columns, context), problems


def label_alias(names: Sequence[str], class_names: Iterable[str]) -> str | None:
    """The column of predictions that stands for `label`, by its usual name; None where there is none.

    A column that may be meant by the name of a class stays what it is: the scores of this class.
    """
    if len(names) != 2 or "id" not in names:
        return None
    name = names[1 - names.index("id")]
    folded = name.lower()
    is_class = folded in LABEL_ALIASES and any(folded == label.casefold() for label in class_names)
    return name if folded in LABEL_ALIASES and not is_class else None


def label_alias_note(name: str) -> str:
    """The note for a column that was read as `label`."""
    return f"the column {quote(name)} was read as 'label'"


def _repeated_column_problems(names: Sequence[str]) -> list[DeferredProblem]:
    columns = list(enumerate(names, start=1))
    first = {name: at for at, name in reversed(columns)}
    return [("duplicate_key", partial(_repeated_column_problem, name, at)) for at, name in columns if first[name] != at]


def _repeated_column_problem(name: str, at: int) -> Problem:
    message = f"Two columns are called {quote(name)}. Keep one of them."
    return build_problem("duplicate_key", message, Location(None, 1, at), got=quote(name))


def _refused_column_problem(refusal: str, name: str, at: int) -> Problem:
    return build_problem("wrong_shape", refusal, Location(None, 1, at), got=quote(name))


@dataclass(frozen=True, slots=True)
class _IdentifiedColumns:
    """The names of the identified columns."""

    id: str
    label: str
    split: str
    scores: Sequence[str]
    is_label_optional: bool = False
    """Whether a label is optional, as scores stand in a column of their own."""


def _identify_columns(names: Sequence[str], context: ReaderContext, *, has_score_lists: bool) -> _IdentifiedColumns:
    split = context.split_field(names) if context.gold else "split"
    if context.gold and "label" not in names and split in names:
        return _kaggle_solution_columns(names, split, context)
    label = (
        None
        if context.gold or has_score_lists
        else label_alias(names, chain(context.classes or (), context.known_classes))
    )
    label = label or _label_column(names, context)
    if context.gold or has_score_lists:
        return _IdentifiedColumns("id", label, split, (), is_label_optional=has_score_lists)
    return _IdentifiedColumns("id", label, split, _score_columns(names, label, context))


def _kaggle_solution_columns(names: Sequence[str], split: str, context: ReaderContext) -> _IdentifiedColumns:
    """A solution file of a competition site: an id, Usage or split, and one column of labels with any name."""
    first = next((name for name in names if name.casefold() == "id"), names[0] if names[0] != split else "id")
    rest = [name for name in names if name not in {first, split, "weight"}]
    default = "labels" if context.sets and "labels" in names else "label"
    return _IdentifiedColumns(first, rest[0] if len(rest) == 1 else default, split, ())


def _label_column(names: Sequence[str], context: ReaderContext) -> str:
    """The column of labels: `labels` is allowed for sets, and required if a class `label` has a column of scores."""
    classes, max_length = set(context.classes or ()), context.limits.text_length
    has_column_per_class = (
        not context.gold and "label" in classes and classes <= {to_nfc(name, max_length) for name in names}
    )
    return (
        "labels" if context.sets and "labels" in names and ("label" not in names or has_column_per_class) else "label"
    )


def _score_columns(names: Sequence[str], label: str, context: ReaderContext) -> Sequence[str]:
    """The columns of scores: named by classes, or that of the positive label; all others if some class is missing."""
    # Without an id there is probably no header at all. Rows of pairs have no scores.
    if "id" not in names or (context.is_long_table and label in names):
        return ()
    others = [name for name in names if name != "id"]
    classes = None if context.classes is None else set(context.classes)
    class_columns = [
        name for name in others if classes is not None and to_nfc(name, context.limits.text_length) in classes
    ]
    if classes and len(set(class_columns)) == len(classes):
        has_labels = label in names and label not in class_columns
        return class_columns if context.wants_scores or not has_labels else ()
    # Not all classes have a column, so a column with the name of the labels holds labels even if a class has this name.
    class_columns = [name for name in class_columns if name != label]
    has_labels = label in names
    if has_labels and not context.wants_scores:
        return ()
    if context.task == "binary" and "score" in others:
        return ("score",)
    if classes is None:
        return () if has_labels else [name for name in others if name != context.other_answer_field]
    return [name for name in others if name != label] if class_columns and not has_labels else class_columns


def _header_problems(
    names: Sequence[str], columns: _IdentifiedColumns, separator: str | None, context: ReaderContext
) -> list[DeferredProblem]:
    """Problems of a header: what is missing, and what must not be there."""
    required = (columns.id,) if columns.scores or columns.is_label_optional else (columns.id, columns.label)
    missing = [name for name in required if name not in names]
    similar_names = {name: _similar_name(name, names, context) for name in missing}
    used = {columns.id, columns.label, columns.split, *similar_names.values()}
    if columns.label in missing:
        used.add(context.other_answer_field)  # which is part of the problem of the missing label
    problems: list[DeferredProblem] = []
    for at, name in enumerate(names, start=1):
        if name not in used and (refusal := gold_field_refusal(name, context, columns=names)):
            problems.append(("wrong_shape", partial(_refused_column_problem, refusal, name, at)))
    got = ", ".join(quote(name) for name in names[:10])
    if len(missing) > 1 and not any(similar_names.values()):  # without a header, or with another separator: one problem
        missing = ["' and '".join(missing)]
    for name in missing:
        scores = "" if name == columns.id or context.gold else " (or, for scores, id and a column for each class)"
        remedy = (
            f"The first line must name the columns: id,label{scores}."
            if separator
            else f"The columns must be named id and label{scores}."
        )
        others = [other for other in names if other != "id"]
        if name == columns.label and context.classes and len(others) > 1 and all(map(str.isdecimal, others)):
            remedy = "Name the columns of scores by the classes, not by numbers."
        if similar_names.get(name):
            remedy = f"Rename {quote(similar_names[name] or '')} to {name}."
        if name == context.answer_field and context.other_answer_field in names:
            remedy = f"This task needs {context.kind} for each instance, not '{context.other_answer_field}'. {remedy}"
        statement = "The header does not name" if separator else "There is no column"
        message = f"{statement} '{name}'. {remedy}{_separator_hint(names, separator)}"
        build = partial(build_problem, "wrong_shape", message, Location(None, 1), expected=f"'{name}'", got=got)
        problems.append(("wrong_shape", build))
    return problems


def _similar_name(missing: str, names: Sequence[str], context: ReaderContext) -> str | None:
    """The column that is probably meant by a missing name."""
    spelt = (other for other in names if other.strip().casefold() == missing)
    known = {"label", "labels"}
    near = (other for other in names if context.gold and other not in known and is_within_one_edit(other, missing))
    return next(chain(spelt, near), None)


def _separator_hint(names: Sequence[str], separator: str | None) -> str:
    """A hint that another separator is used."""
    if separator is None:
        return ""
    for sign, word in _SEPARATOR_NAMES.items():
        if sign != separator and len(names) == 1 and sign in names[0]:
            use = "tabs" if separator == "\t" else "commas"
            name = " or send it as .tsv" if sign == "\t" else " or send it as .csv" if sign == "," else ""
            return f" The columns seem to be separated by {word}s; use {use}{name}."
    return ""


def _build_header(names: Sequence[str], columns: _IdentifiedColumns, context: ReaderContext) -> TableHeader:
    at = {name: number for number, name in enumerate(names)}
    fields = {"id": columns.id}
    if columns.label in names and columns.label not in columns.scores:
        fields["label"] = columns.label
    if context.gold:
        fields |= {field: name for field, name in (("split", columns.split), ("weight", "weight")) if name in at}
    scores = [at[name] for name in columns.scores]
    used = {*fields.values(), *columns.scores}
    is_single = list(columns.scores) == ["score"] and "score" not in (context.classes or ())
    layout = DelimitedTableLayout(names, FieldNames(columns.id, columns.label, columns.split, score="score"), scores)
    positions = {field: at[name] for field, name in fields.items()}
    score_names = None if is_single or not scores else list(columns.scores)
    ignored = [name for name in names if name not in used]
    return TableHeader(context, layout, len(names), positions, scores, score_names, ignored)
