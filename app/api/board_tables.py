"""Leaderboards as tables of text, CSV and LaTeX, in pieces of a few rows."""

import csv
import io
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

from app.actions.submissions.read_leaderboard import ROWS_AT_ONCE
from app.store.types import format_timestamp
from app.text.latex import escape_latex, latex_comment
from app.text.spreadsheet_cells import escape_formula

RANK_SET = ("rank_low", "rank_high", "tie_group")
ENDS = ("low", "high")  # of intervals
VERSIONS = ("gold_version", "recipe_version", "scorer_version")  # the same in all rows of a board
INTERVAL_DIGITS = 3  # significant ones of the ends of an interval in LaTeX
LATEX_DIGITS = 6  # significant ones; organizers read all digits as JSON and CSV


def csv_pieces(board: dict[str, Any]) -> Iterator[bytes]:
    """The board as CSV: one line per row, one column per metric. An empty field is null."""
    names = [metric["key"] for metric in board["metrics"]]
    head = ["rank", "team", "method", "submission", "submitted_at", "entries", "baseline"]
    head += ["mark", "on_behalf", "public_rank", *names, *RANK_SET]
    head += [f"{name} {end}" for name in names for end in ENDS]
    versions = [board[name] for name in VERSIONS]
    lines = chain([[*head, *VERSIONS]], ([*_csv_fields(row, names), *versions] for row in board["rows"]))
    while some := list(islice(lines, ROWS_AT_ONCE)):
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows(some)
        yield out.getvalue().encode()


def _csv_fields(row: dict[str, Any], names: list[str]) -> list[Any]:
    values = [row["scores"].get(name, {}).get("value") for name in names]
    sure = [row[name] for name in RANK_SET]
    sure += [row["scores"].get(name, {}).get(end) for name in names for end in ENDS]
    fixed = [row["rank"], escape_formula(row["team"]["name"]), escape_formula(row["method"]), row["submission"]]
    rest = [format_timestamp(row["submitted_at"]), row["entries"], str(row["baseline"]).lower()]
    rest += [row["mark"], str(row["on_behalf"]).lower(), row["public_rank"]]
    return ["" if field is None else field for field in [*fixed, *rest, *values, *sure]]


def latex_pieces(board: dict[str, Any]) -> Iterator[bytes]:
    """The board as a LaTeX table with the rules of booktabs; comments say where it comes from."""
    yield "\n".join((*_latex_comments(board), *_latex_head(board), "")).encode()
    keys = [metric["key"] for metric in board["metrics"]]
    rows = iter(board["rows"])
    has_sets = _has_rank_sets(board)
    while some := list(islice(rows, ROWS_AT_ONCE)):
        yield "".join(_latex_row(row, keys, has_sets=has_sets) for row in some).encode()
    yield b"\\bottomrule\n\\end{tabular}\n"


def _has_rank_sets(board: dict[str, Any]) -> bool:
    return bool(board["significance"]["status"] != "none")


def _latex_comments(board: dict[str, Any]) -> Iterator[str]:
    direction = "higher is better" if board["direction"] == "higher" else "lower is better"
    place = f"challenge {board['challenge']}, phase {board['phase']}, split {board['split']}"
    versions = (
        f"Gold version {board['gold_version']}, recipe version {board['recipe_version']}, "
        f"scorer version {board['scorer_version']}, as of {format_timestamp(board['as_of'])}."
    )
    yield latex_comment(f"Leaderboard of {place}, ranked by {board['primary']} ({direction}).")
    yield latex_comment(board["selection"]["meaning"])
    yield latex_comment(versions)
    yield latex_comment(
        f"Values have at most {LATEX_DIGITS} significant digits. The whole leaderboard has {board['total']} rows."
    )
    yield latex_comment(
        "Requires \\usepackage{booktabs}; names in other scripts than Latin require XeLaTeX or LuaLaTeX."
    )
    caption = f"Leaderboard of the challenge {board['challenge']}, phase {board['phase']}."
    yield latex_comment(f"\\caption{{{escape_latex(caption)}}}")


def _latex_head(board: dict[str, Any]) -> Iterator[str]:
    uses = Counter(metric["name"] for metric in board["metrics"])
    titles = [metric["name"] if uses[metric["name"]] == 1 else metric["key"] for metric in board["metrics"]]
    ranks = ("Rank", "Ranks not ruled out") if _has_rank_sets(board) else ("Rank",)
    yield f"\\begin{{tabular}}{{{'r' * len(ranks)}llr{'l' * len(titles)}}}"
    yield "\\toprule"
    yield " & ".join((*ranks, "Team", "Method", "Entries", *map(escape_latex, titles))) + " \\\\"
    yield "\\midrule"


def _latex_row(row: dict[str, Any], keys: list[str], *, has_sets: bool) -> str:
    rank = "--" if row["rank"] is None else str(row["rank"])
    if has_sets:
        ends = (row["rank_low"], row["rank_high"])
        rank += " & " + ("--" if None in ends else str(ends[0]) if ends[0] == ends[1] else "{} to {}".format(*ends))
    mark = "baseline" if row["baseline"] else row["mark"]
    team = escape_latex(row["team"]["name"]) + ("" if mark is None else f" ({mark})")
    values = (_latex_score(row["scores"].get(key, {})) for key in keys)
    return " & ".join((rank, team, escape_latex(row["method"]), str(row["entries"]), *values)) + " \\\\\n"


def _latex_score(score: dict[str, Any]) -> str:
    """A value with its interval, if there is one."""
    value, ends = _latex_value(score.get("value")), [score.get(end) for end in ENDS]
    if None in ends:
        return value
    low, high = (_latex_value(end, INTERVAL_DIGITS) for end in ends)
    return f"{value} [{low}, {high}]"


def _latex_value(value: float | None, digits: int = LATEX_DIGITS) -> str:
    if value is None:
        return "--"
    text = f"{value:.{digits}g}"
    number, _, exponent = text.partition("e")
    return f"${number} \\times 10^{{{int(exponent)}}}$" if exponent else text.replace("-", "$-$")
