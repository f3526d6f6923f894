"""Reads a file of pairs: the gold and the predicted label of one instance on each line, as confusionmatrix.py and TiMBL write.

The last two columns count, so the feature values that TiMBL repeats before them do no harm. The line numbers are the ids.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple, NoReturn

import typer

from app.cli.terminal.output import CommandError

Separator = Literal["tab", "comma", "whitespace"]
EMPTY_SET = "NONE"
"""The cell that stands for no label where cells hold several labels, as in confusionmatrix.py."""
_SPLIT = {"tab": re.compile(r"\t"), "comma": re.compile(","), "whitespace": re.compile(r"[ \t]+")}
_SEPARATED_BY = {
    "tab": "tabs separate the columns",
    "comma": "commas separate the columns",
    "whitespace": "whitespace separates the columns",
}
_NUMBER = r"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?"
_DISTRIBUTION = re.compile(rf"[ \t]+\{{[^{{}}]*\}}(?:[ \t]+{_NUMBER})*$")
_DISTANCE = re.compile(rf"(?<=[^ \t,])(?:[ \t]+{_NUMBER})+$")
_GOLD_HEADERS = {"id", "label", "gold", "gold_label", "true", "actual", "reference", "target", "y_true"}
_PREDICTED_HEADERS = {"label", "predicted", "predicted_label", "prediction", "predictions", "pred", "system", "y_pred"}


@dataclass(frozen=True, slots=True)
class LabelPairs:
    """The gold and predicted cells of a file of pairs, with the line numbers that are the ids.

    `columns` is the number of columns; `notes` say how the file was read.
    """

    lines: Sequence[int]
    gold: Sequence[str]
    predicted: Sequence[str]
    columns: int
    notes: Sequence[str]

    def write(self, folder: Path, label_separator: str | None) -> tuple[Path, Path]:
        """The gold and the predictions as JSON files in a folder; with `label_separator` each cell is a list of labels."""
        paths = folder / "gold.json", folder / "predictions.json"
        for path, cells in zip(paths, (self.gold, self.predicted), strict=True):
            answers = cells if label_separator is None else [_labels(cell, label_separator) for cell in cells]
            by_line = {str(line): answer for line, answer in zip(self.lines, answers, strict=True)}
            path.write_text(json.dumps(by_line), encoding="utf-8")
        return paths

    def locate(self, file: str, problem: Mapping[str, Any]) -> dict[str, Any]:
        """A problem of one of the two files that `write` wrote, with its place in the file of pairs."""
        where = {key: value for key, value in problem.items() if key not in {"pointer", "line", "column"}}
        line = problem.get("instance_id")
        if line is None:
            return {"file": "pairs", **where}
        return {"file": "pairs", "line": int(line), "column": self.columns - (file == "gold"), **where}


def _labels(cell: str, separator: str) -> list[str]:
    return [] if cell == EMPTY_SET else cell.split(separator)


def read_pairs(path: Path, separator: Separator | None = None) -> LabelPairs:
    """The pairs of a file in UTF-8, plain or compressed. Raises CommandError."""
    rows, cut = _strip_timbl_numbers(_numbered_lines(path))
    if not rows:
        raise CommandError(
            "empty_file", f"{path}: no line has labels.", "Write one instance on each line: gold predicted"
        )
    names: tuple[Separator, ...] = ("tab", "comma", "whitespace") if separator is None else (separator,)
    tables = {name: [_cells(text, name) for text in rows.values()] for name in names}
    chosen = next((name for name in names if _is_uniform(tables[name])), None)
    if chosen is None:
        _refuse_columns(path, list(rows), *_most_likely(tables))
    cells = tables[chosen]
    _require_pairs(path, list(rows), cells)
    count = len(cells[0])
    notes = [f"{_SEPARATED_BY[chosen]}: column {count - 1} of {count} is the gold, column {count} the prediction"]
    if cut:
        notes.append(
            f"distributions and distances after the predicted label were left out on {cut} of {len(rows)} lines"
        )
    return LabelPairs(list(rows), [row[-2] for row in cells], [row[-1] for row in cells], count, notes)


def _numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers from 1."""
    from app.cli.input.value_parsing import read_text

    try:
        text = read_text(path)
    except UnicodeDecodeError as error:
        number = error.object.count(b"\n", 0, error.start) + 1
        detail = f"{path}, line {number}: byte 0x{error.object[error.start]:02x} is not valid UTF-8."
        remedy = "Convert the file, for example: iconv -f latin1 -t utf-8 FILE > FILE.utf8"
        raise CommandError("encoding", detail, remedy) from None
    for number, line in enumerate(text.split("\n"), start=1):
        stripped = line.removesuffix("\r").strip(" ")
        if stripped.strip():
            yield number, stripped


def _strip_timbl_numbers(lines: Iterator[tuple[int, str]]) -> tuple[dict[int, str], int]:
    """The lines without what TiMBL writes after the predicted class (+v db, +v di), and how many lines had it.

    A distribution stands in braces. A distance alone is recognized only where commas separate the columns: else it could
    be a label.
    """
    rows = dict(lines)
    without = {number: _DISTRIBUTION.sub("", text) for number, text in rows.items()}
    if all("," in text and "\t" not in text.rstrip() for text in without.values()):
        without = {number: _DISTANCE.sub("", text) for number, text in without.items()}
    return without, sum(without[number] != text for number, text in rows.items())


def _cells(text: str, separator: Separator) -> list[str]:
    if separator == "whitespace":
        return _SPLIT[separator].split(text.strip(" \t"))
    return [cell.strip(" ") for cell in _SPLIT[separator].split(text)]


def _is_uniform(table: Sequence[Sequence[str]]) -> bool:
    return len(table[0]) > 1 and all(len(row) == len(table[0]) for row in table)


def _most_likely(tables: "dict[Separator, list[list[str]]]") -> tuple[Separator, list[list[str]]]:
    """The separator that occurs on most lines, and the table that it gives."""
    return max(tables.items(), key=lambda item: sum(len(row) > 1 for row in item[1]))


def _refuse_columns(path: Path, lines: Sequence[int], separator: Separator, table: Sequence[Sequence[str]]) -> NoReturn:
    """Raise CommandError for the first line that has fewer than two columns, or not as many as most lines."""
    widths = [len(row) for row in table]
    usual = max(set(widths), key=lambda width: (width > 1, widths.count(width)))
    wrong = [(line, width) for line, width in zip(lines, widths, strict=True) if width != usual or width < 2]
    (line, width), more = wrong[0], len(wrong) - 1
    what = "1 column" if width == 1 else f"{width} columns"
    detail = f"{path}, line {line}: {what} where {usual} are expected (separator: {separator})."
    if usual == 1:
        detail = f"{path}, line {line}: 1 column where at least 2 are expected, the gold and the predicted label."
    if more:
        detail += f" {more} more lines are wrong." if more > 1 else " 1 more line is wrong."
    remedy = "Write the same number of columns on each line, the gold and the predicted label last; --separator names the sign between them."
    raise CommandError("wrong_columns", detail, remedy)


def _require_pairs(path: Path, lines: Sequence[int], cells: Sequence[Sequence[str]]) -> None:
    """Refuse an empty label, and a first line of column names."""
    for line, row in zip(lines, cells, strict=True):
        if not (row[-2] and row[-1]):
            side = "gold" if not row[-2] else "predicted"
            raise CommandError(
                "empty_label", f"{path}, line {line}: the {side} label is empty.", "Write a label there."
            )
    gold, predicted = (cell.lower() for cell in cells[0][-2:])
    if gold in _GOLD_HEADERS and predicted in _PREDICTED_HEADERS and gold != predicted:
        detail = f"{path}, line {lines[0]}: '{cells[0][-2]}' and '{cells[0][-1]}' look like the names of columns."
        raise CommandError("header_row", detail, "Remove this line: a file of pairs has no header.")


class GivenFiles(NamedTuple):
    """A file of gold and one of predictions, and the file of pairs that they were written from, if there is one."""

    gold: Path
    predictions: Path
    pairs: LabelPairs | None = None


@dataclass(frozen=True, slots=True)
class PairsOptions:
    """A file of pairs, if there is one, and how to read it."""

    path: Path | None
    separator: Separator | None
    label_separator: str | None

    @contextmanager
    def files(self, gold: Path | None, predictions: Path | None, layout: str | None) -> Iterator[GivenFiles]:
        """The files to score: the two that were given, or those written from the pairs, for as long as the block lasts.

        Raises BadParameter unless there are either two files or one of pairs, with the options of that, and
        CommandError for faults of the file of pairs.
        """
        if self.path is None:
            yield self._two_files(gold, predictions)
            return
        if gold is not None or predictions is not None:
            raise typer.BadParameter("not allowed with --gold or --predictions", param_hint="--pairs")
        if layout is not None:
            raise typer.BadParameter("not allowed with --pairs", param_hint="--layout, --gold-layout")
        if self.label_separator == "":
            raise typer.BadParameter("must not be empty", param_hint="--label-separator")
        pairs = read_pairs(self.path, self.separator)
        with TemporaryDirectory(prefix="assay-") as folder:
            yield GivenFiles(*pairs.write(Path(folder), self.label_separator), pairs)

    def _two_files(self, gold: Path | None, predictions: Path | None) -> GivenFiles:
        for name, sign in (("--separator", self.separator), ("--label-separator", self.label_separator)):
            if sign is not None:
                raise typer.BadParameter("only allowed with --pairs", param_hint=name)
        if gold is None or predictions is None:
            missing = "--gold" if gold is None else "--predictions"
            raise typer.BadParameter("required, unless --pairs is given", param_hint=missing)
        return GivenFiles(gold, predictions)
