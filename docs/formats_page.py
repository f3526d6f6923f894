"""Generates docs/formats.md from the declarations of the formats and the table of faults that the tests use."""

import json
import tempfile
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from textwrap import fill

from app.formats import FORMATS, detect_file_kind
from app.formats.format_declaration import Format, FormatShape
from app.formats.problems import MAX_LISTED_PROBLEMS, PROBLEM_CODES, Problem
from app.formats.readers.table_header import LABEL_ALIASES
from app.formats.registry import ENCODINGS
from app.pipeline import SourceFile, validate_predictions
from app.settings import Settings
from tests.formats.fault_table import GROUPS, cells
from tests.formats.fault_table.model import CHALLENGES, IDS, Cell, Fault, Group, ProblemFields, actual_answer
from tests.formats.fault_table.write import COLUMN_TITLES

_FUZZING = Path(__file__).resolve().parent / "fuzzing.json"
_WHEN = {
    "json": "The default: records hold labels and scores together, and every problem has a pointer.",
    "jsonl": "Large files of records: a faulty line does not affect the others.",
    "csv": "Spreadsheets, and files of competition sites without changes.",
    "tsv": "Like CSV, for labels that contain commas.",
    "npz": "Many scores, as arrays.",
    "parquet": "Data frames; many scores. Requires pyarrow on the service.",
    "arrow": "Data frames; many scores. Requires pyarrow on the service.",
}
_COSTS = ("scoring_memory", "scoring_seconds", "upload_rate", "upload_idle")
"""Settings that limit reading and receiving a file."""
_SIZES = ("upload", "expanded", "records", "classes", "columns", "text_length", "nesting")
_FIELDS = {
    "code": "what is wrong, one of the codes above",
    "message": "a sentence that says what is wrong and how to fix it",
    "pointer": "the location in JSON, as an RFC 6901 pointer; in JSON Lines within the record of the line; in .npz, "
    "Parquet and Arrow: array or column, row, item, from 0",
    "line": "the line in text, from 1",
    "column": "the column in the line, from 1; in CSV and TSV the number of the field",
    "instance_id": "the id of the instance, if it is known",
    "expected": "what was expected, such as the id or label that was probably intended",
    "got": "what was found",
}
_EXAMPLE = (
    '{"predictions": [{"id": "t1", "label": "Cat"}, {"id": "t2", "label": ["dog"]}, {"id": "T-3", "label": "eel"}]}'
)
_INTRODUCTION = """# File formats

Predictions and gold come in the same formats, read by the same code in the service, in `assay validate` and in
`assay score`. `docs/build.py` generates this page from the declarations in `app/formats/registry.py` and from the
table of faults in `tests/formats/fault_table`; a test fails when it is out of date.
"""
_DETECTION = """The format is determined by the media type (`Content-Type`); if that is absent, `application/octet-stream` or
`application/x-www-form-urlencoded`, by the extension of the file name (`?filename=`); otherwise it is JSON. On the
command line the file name decides. The layout of JSON follows from its content: a list, or a list under `predictions`
or `documents`, holds records; `ids` with a list of `labels` or `scores` are columns; any other object is a map. An
object in which `ids`, `predictions` or `documents` is another list or an object is refused (`wrong_shape`).

A form (`multipart/form-data`, as `curl -F file=@FILE` sends it) is read like the file in it: the name and type of that
part decide, and size, hash and Idempotency-Key are those of the file, so both ways of sending it are the same request.
Where the type is none of these formats, the ending of the name decides: browsers may call a CSV file
`application/vnd.ms-excel`. The form has one file and nothing else; parameters belong into the query.

Each format may be compressed, as `Content-Encoding` or a second extension of the file name says:
"""
_MEMBERS_AND_REFUSALS = """Several members (gzip) or frames (zstd) one after the other are one file. zstd may use a window of up to 128 MiB. A
media type, charset or encoding that is not read here, two encodings in Content-Encoding, or a name that contradicts it
get 415; a body larger than `ASSAY_MAX_UPLOAD` gets 413; a layout that is unknown or does not belong to the format gets
400. One reply reports all other faults, as far as the file is read; see [Problems](#problems).
"""
_WORK_LIMITS = """`ASSAY_MAX_CLASSES` concerns gold: predictions can name only the classes of the challenge. A file within all of these
limits may still take more memory or more CPU time to read than the limits allow (`ASSAY_SCORING_CPU`: a third of
`ASSAY_SCORING_SECONDS` unless it is set). That is a problem of the file too (`too_large`); larger files need more of
both.

Of predictions, no more is read than their phase can use, both online and offline. Let n be the number of instances
(including those that are not scored) and m the number of classes. Reading stops with `too_many_rows` after

- n + n/4 + 1,000 rows;
- n·(m + 32) + 262,144 labels in sets (lists, or texts joined by `|`); online also after one label for each 96 bytes of
  `ASSAY_SCORING_MEMORY`;
- n·(2m + 32) + 1,048,576 values (texts, numbers, lists, cells, labels of sets).

It stops with `too_large` after 8 MiB and, for each instance, 1 KiB (6 KiB for the first 16,384), twelve times the bytes
of the longest id, twelve times those of the names of all classes, and 128 bytes for each class.

With `layout=long` in multi-label tasks, a table may have p = n·m + n + n/4 + 1,000 rows, at most m + m/4 + 1,000 of
them for one id, with 16·p more values and, for each of the p rows, the bytes of the longest id and 128 more. Ignored
fields count, and so does white space; in Parquet and Arrow, ignored columns count with their stored size. Compressed
data may have 2,000 members and one more for every 16 instances, at most 10,000. Decoding a Parquet or Arrow file in the
service may take 0.75 s of CPU time, plus 40 ns for each cell and 0.5 ns for each byte of text that its rows may have.
Reading also stops after 100,000 problems. Whenever it stops early, `total_at_least` is true beside `total`.

An upload that is larger than all this allows is refused while it arrives, with 413 and without charge. (For gold that
was uploaded before the service stored the length of the longest id, the maximum length is assumed, and no upload is
refused in this way if some instances are not scored.)

Texts with more than 30 combining marks in a row are compared without NFC.
"""
_STRICT = """## What is accepted

- Text is UTF-8. A byte order mark at the beginning is skipped, and a note says so.
- A table sent as CSV or TSV may have semicolons between its columns if its header has neither a comma nor a tab; a note
  says so. Scores have a decimal point.
- In predictions, the only column beside `id` may have one of these names in any case instead of `label`, and a note
  says so: {aliases}.
  It is not read as labels if a class has that name. Gold has to say `label`.
- Ids and labels are strings. In JSON, arrays and typed columns, integers are read as their decimal text (`7` is
  `"7"`); `1.0`, `true` and `null` are refused. An integer in JSON may have at most 309 digits, as many as the largest
  binary64 number; write longer ids as strings. In CSV and TSV every field is text.
- They are compared exactly after Unicode NFC: no case folding, no trimming. The reply suggests near matches.
- Each expected id is given once. A recipe can relax this (`missing`, `duplicates`, `unknown_label`); see
  [conventions.md](conventions.md).
- An empty list is the empty set of labels, and valid in multi-label tasks; the empty string is not a label.
- Fields, columns and arrays that the task does not use are ignored, and the notes of the reply name them. In gold,
  similar names that would change the score (`weights`, `splits`, …) are refused instead.
- `layout=long` says that a table of a multi-label task has one row per pair of instance and label.

## Scores

A file may give scores with or without labels: one per class or, in binary tasks, only the score of the positive label.
If the file has labels too, scores are read only if a metric of the recipe uses them. Scores are finite numbers. If a
metric needs probabilities, each must be from 0 to 1, and for exclusive classes those of one instance must sum to 1.

If there is only one score s from 0 to 1, the other class gets 1 - s. With at most 12 decimal places the subtraction is
decimal (0.7 gives 0.3), so a file that gives both scores has the same values; with more places it is one binary64
subtraction. Only the default decision rule depends on the number of scores; name a `decision` to avoid that.

Scores in binary files are the stored numbers, whatever decimals they were made from: 0.7 as float32 is
0.699999988079071, which is below a threshold of 0.7. If the file gives no labels, they follow from the scores by the
`decision` of the recipe, and a note names the rule:
[hard labels from scores](conventions.md#hard-labels-from-scores).
"""
_GOLD = """## Gold

Gold has `id` and `label` (or `labels`), and may have these fields too:

| field | meaning |
|---|---|
| `split` | `public` or `private`, on all rows or on none; it determines which scores are shown when |
| `weight` | a number from 0 to 1e12, on all rows or on none: the weight of the instance, exactly as written (at most 200 characters; for float16, float32 and float64 in binary files the shortest decimal that denotes the value); the same weight on all rows has no effect |
| `Usage` | the column of competition sites: `Public`, `Private`, or `Ignored` (not scored) |
| `labels` in a multi-class task | the acceptable answers; an empty list voids the instance: it is not scored |

Weights count as integer multiples of the largest number that divides all of them, so the unit in which they are written
does not change any value. If their sum exceeds 2⁵² of that number, as with most weights of 16 digits or more, they are
rounded to 52 binary digits of their sum, and a note says so. They are refused if rounding would turn one into 0, or
change those of one split by 2⁻²⁴ of their sum, because one split must not affect the values of the other. All values
are exact for the rounded weights; two files that would be equal with the weights as written may then differ in the last
digits.

A solution table with an id, `Usage` or `split`, and one more column of any name (and optionally a `weight`) is accepted
unchanged; records in JSON need the name `label`.
"""
_PROBLEMS = """## Problems

One answer reports all problems of a file, as far as it is read: `total` counts them by code, `problems` lists the first
{listed} in the order of the file. No answer to a participant depends on a gold label.

| code | meaning |
|---|---|
"""
_FAULTS = """## Faults, format by format

These tables show {count} files and the answer to each. To generate this page, each file is read, and every problem and
location in the answer must be the one declared with the file in `tests/formats/fault_table`. The tests also send each
file to a running service, whose answer must be the same, byte for byte.

A cell holds `code` and location. `3:2` is line 3, column 2 (in CSV and TSV: field 2); `/labels/1` is a pointer; *all*
is the file as a whole. The instances are t1, t2 and t3, the classes cat, dog and eel. “lost” names instances that are
missing because their row could not be read or does not name them.
"""


def page() -> str:
    """The whole page."""
    strict = _STRICT.replace("{aliases}", ", ".join(f"`{name}`" for name in sorted(LABEL_ALIASES)))
    parts = [_INTRODUCTION, *_formats(), strict, _GOLD, *map(_section, FORMATS.values())]
    parts += [_problems(), _FAULTS.format(count=len(cells())), *map(_group, GROUPS), *_fuzzing()]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def _code(*texts: str) -> str:
    return ", ".join(f"`{text}`" for text in texts)


def _formats() -> Iterator[str]:
    rows = [
        [f"[{one.name}](#{_anchor(one.name)})", _WHEN[one.key], _code(*one.media_types), _code(*one.endings)]
        for one in FORMATS.values()
    ]
    yield "## Formats\n"
    yield table(["format", "when", "media types", "file names end in"], rows)
    yield _DETECTION
    rows = [[one.key, _code(*one.names), _code(one.ending), one.source] for one in ENCODINGS.values()]
    yield table(["encoding", "Content-Encoding", "ending", "defined by"], rows)
    yield _MEMBERS_AND_REFUSALS
    known = {name: Settings.model_fields[name] for name in (*(f"max_{size}" for size in _SIZES), *_COSTS)}
    rows = [[f"`ASSAY_{name.upper()}`", f"{one.default:,}", one.description or ""] for name, one in known.items()]
    yield (
        "The limits are settings of the service. `assay validate` checks offline with the defaults of those that concern\n"
        "the content of a file; it has no limits on the size of the upload, on memory or on time:\n"
    )
    yield table(["setting", "default", "meaning"], rows)
    yield _WORK_LIMITS


def _anchor(heading: str) -> str:
    kept = "".join(sign for sign in heading.lower() if sign.isalnum() or sign in " -_")
    return kept.replace(" ", "-")


# ---- one section per format --------------------------------------------------------------------------


def _section(known: Format) -> str:
    lines = [f"## {known.name}", "", fill(known.meaning, 120), ""]
    lines += [f"Media types: {_code(*known.media_types)}. Endings: {_code(*known.endings)}.", ""]
    for shape in known.shapes:
        lines += [f"### {known.name}: {shape.name}", "", fill(shape.meaning, 120), "", *_examples(known, shape)]
    return "\n".join(lines)


def _examples(known: Format, shape: FormatShape) -> Iterator[str]:
    kinds = {
        "One label per instance": shape.example,
        "Sets of labels": shape.multilabel,
        "Scores": shape.scores,
        "The score of the positive label": shape.score,
    }
    language = "python" if known.is_binary else {"json": "json", "jsonl": "json"}.get(known.key, known.key)
    for kind, example in kinds.items():
        if example:
            yield from (f"{kind}:", "", f"```{language}", example.rstrip("\n"), "```", "")


# ---- problems ----------------------------------------------------------------------------------------


def _problems() -> str:
    assert set(_FIELDS) == {field.name for field in fields(Problem)}
    codes = "".join(f"| `{code}` | {meaning} |\n" for code, meaning in PROBLEM_CODES.items())
    field_table = table(["field", "meaning"], [[f"`{name}`", meaning] for name, meaning in _FIELDS.items()])
    introduction = "A problem has these fields, as far as they are known:\n"
    example = f"For example, if the ids are t1, t2, t3 and the classes cat, dog, eel, the answer to\n\n```json\n{_EXAMPLE}\n```\n\nis\n\n```json\n{_answer()}\n```\n"
    return "\n".join((_PROBLEMS.format(listed=MAX_LISTED_PROBLEMS) + codes, introduction, field_table, example))


def _answer() -> str:
    """The answer of a dry run to the example, with the ids t1, t2, t3 and the classes cat, dog, eel."""
    challenge = CHALLENGES["label"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "predictions.json"
        path.write_text(_EXAMPLE, encoding="utf-8")
        _, problems, notes = validate_predictions(
            IDS, challenge.spec, SourceFile(path, detect_file_kind(path.name, None, None)), rules=challenge.rules
        )
    return json.dumps(problems.to_dict() | {"notes": notes}, indent=2, ensure_ascii=False)


# ---- the table of faults -----------------------------------------------------------------------------


def _group(group: Group) -> str:
    rows = []
    for fault in group.faults:
        shown = [_shown(fault, name) for name in group.columns]
        rows.append([f"**{fault.name}**: {fault.meaning}", *shown])
    head = [
        "fault",
        *(
            COLUMN_TITLES[name] if group.name != "Media type, file name and layout" else "answer"
            for name in group.columns
        ),
    ]
    lines = [f"### {group.name}", "", table(head, rows)]
    if absent := _absent(group):
        lines += ["Formats in which a fault cannot occur (\u2013):", "", *absent, ""]
    return "\n".join(lines)


def _absent(group: Group) -> list[str]:
    """Why some formats cannot have a fault, by fault and reason."""
    lines = []
    for fault in group.faults:
        reasons: dict[str, list[str]] = {}
        for name in group.columns:
            reason = fault.cells[name]
            if isinstance(reason, str):
                reasons.setdefault(reason, []).append(COLUMN_TITLES[name])
        explanation = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in reasons.items())
        lines += [f"- *{fault.name}*. {explanation}."] if explanation else []
    return lines


def _shown(fault: Fault, column: str) -> str:
    """The actual answer to the file of a cell; raises AssertionError if it differs from the declared one."""
    cell = fault.cells[column]
    if not isinstance(cell, Cell):
        return "\u2013"
    problems, refusal = actual_answer(cell)
    assert (problems, refusal) == (list(cell.problems), cell.refused), f"{fault.name}, {column}: {problems} {refusal}"
    if refusal:
        return f"{refusal[0]} `{refusal[1]}`"
    lost = [str(one["instance_id"]) for one in problems if one["code"] == "missing_instances"]
    rest = [one for one in problems if one["code"] != "missing_instances"]
    texts = [f"`{one['code']}` {_location(one)}" for one in rest]
    if lost:
        texts.append(("lost " if rest else "`missing_instances` ") + ", ".join(lost))
    return "<br>".join(texts) or "accepted"


def _location(problem: ProblemFields) -> str:
    line, column = problem.get("line"), problem.get("column")
    spot = "" if line is None else f"{line}:{column}" if column else f"line {line}"
    return " ".join(part for part in (spot, _short(problem.get("pointer"))) if part) or "*all*"


def _short(pointer: str | None) -> str:
    return "" if pointer is None else f"`{pointer}`"


def _fuzzing() -> Iterator[str]:
    """The numbers of the last long run, if they are stored."""
    if not _FUZZING.exists():
        return
    results = json.loads(_FUZZING.read_text(encoding="utf-8"))
    names = {key: known.name for key, known in FORMATS.items()}
    rows = [[names.get(key, key), f"{count:,}"] for key, count in results["inputs"].items()]
    yield "## Fuzzing\n"
    yield f"The readers were fuzzed for {results['seconds']:,} seconds; findings: {results['findings']:,}.\n"
    yield table(["format", "inputs"], rows)
