"""Detects text of one format that was sent as another, so that one problem can say so instead of many."""

import re

from app.formats.problems import Location, Problem, build_problem, describe_value

_JSON_START = re.compile(r'\s*[\[{]\s*["\[{]')
_TABLE_FORMATS = (
    (",", "CSV", ".csv", "text/csv"),
    ("\t", "TSV", ".tsv", "text/tab-separated-values"),
    (";", "CSV", ".csv", "text/csv"),
)
_FILE_NAME = re.compile(r"[\w./ -]+\.(?:csv|tsv|jsonl?|ndjson|txt)")
_ID_COLUMN = re.compile(r'"?id"?\s*([,;\t])', re.IGNORECASE)
_SPACED_HEADER = re.compile(r'"?id"?(?: "?\w+"?)+')
_WORD_SIGNS = str.maketrans("", "", '_-."')
_RECORD_END = re.compile(r"\}[ \t\r]*\{")
BINARY_REMEDY = "Send it with curl --data-binary @FILE."
LINE_BREAKS_REMEDY = "curl -d removes line breaks; send the file with curl --data-binary @FILE."
TABLE_ON_ONE_LINE = f"The whole table stands on one line, without a line break. {LINE_BREAKS_REMEDY}"


def table_format_problem(text: str, read_as: str) -> Problem | None:
    """Advice for a table that was sent as JSON, because of its media type or a file name without a known ending."""
    first_line = text[:2000].split("\n", 1)[0].strip()
    got = describe_value(first_line)
    if _FILE_NAME.fullmatch(first_line) and "\n" not in text.strip():
        message = "This is the name of a file instead of its content: curl needs @ before it, as in -F file=@FILE."
        return build_problem("syntax", message, Location(None, 1, 1), expected=read_as, got=got)
    if _SPACED_HEADER.fullmatch(first_line):
        message = f"The file was read as {read_as} but looks like a table with spaces between its columns. "
        message += "Put commas between them (in R: write.csv with row.names = FALSE), and use a name that ends in .csv."
        return build_problem("syntax", message, Location(None, 1, 1), expected=read_as, got=got)
    for sign, name, ending, media in _TABLE_FORMATS:
        if _is_row(first_line, sign):
            message = f"The file was read as {read_as} but looks like {name}. "
            message += f"Use a file name that ends in {ending}, or send it as {media}."
            message += "" if "\n" in text else f" It has only one line: {LINE_BREAKS_REMEDY}"
            return build_problem("syntax", message, Location(None, 1, 1), expected=read_as, got=got)
    return None


def _is_row(line: str, sign: str) -> bool:
    """Whether a line that is no JSON is the header of a table, or words between separators."""
    header = _ID_COLUMN.match(line)
    return header[1] == sign if header else sign in line and line.translate(_WORD_SIGNS).replace(sign, "").isalnum()


def json_format_problem(text: str, read_as: str) -> Problem | None:
    """Advice for JSON that was sent as a table."""
    if not _JSON_START.match(text[:2000]):
        return None
    remedy = "Use a file name that ends in .json (.jsonl for one record per line), or send it as application/json"
    message = f"The file was read as {read_as} but looks like JSON. {remedy} (application/x-ndjson)."
    got = text[:2000].split("\n", 1)[0]
    return build_problem("syntax", message, Location(None, 1, 1), expected=read_as, got=describe_value(got))


def lost_line_breaks_problem(text: str, first_record_end: int) -> Problem | None:
    """Advice for JSON Lines whose records stand on one line; `first_record_end` is the offset behind the first."""
    if "\n" in text.rstrip("\n") or not _RECORD_END.match(text, max(0, first_record_end - 1)):
        return None
    message = f"All records of the file stand on one line, without a line break. {LINE_BREAKS_REMEDY}"
    return build_problem("syntax", message, Location(None, 1, first_record_end + 1), expected="a line break")
