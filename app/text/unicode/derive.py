"""Generates the tables of confusable characters and of scripts from the files of the Unicode Consortium.

    python -m app.text.unicode.derive FOLDER

The folder holds confusables.txt (of the Unicode Security Mechanisms), Scripts.txt, ScriptExtensions.txt and
PropertyValueAliases.txt of one version of Unicode.
"""

import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

_HEAD = """\
# Derived from {files} of Unicode {version} by app/text/unicode/derive.py; see LICENSE.
# Each line: {line}
"""


def _rows(path: Path) -> Iterator[list[str]]:
    for line in path.read_text(encoding="utf-8-sig").splitlines():
        fields = [field.strip() for field in line.partition("#")[0].split(";")]
        if len(fields) > 1:
            yield fields


def _code_points(field: str) -> range:
    first, _, last = field.partition("..")
    return range(int(first, 16), int(last or first, 16) + 1)


def _confusables(folder: Path) -> str:
    rows = sorted((int(char, 16), target) for char, target, *_ in _rows(folder / "confusables.txt"))
    return "".join(f"{char:X} {' '.join(part.lstrip('0') for part in target.split())}\n" for char, target in rows)


def _scripts(folder: Path) -> str:
    codes = {long: short for name, short, long, *_ in _rows(folder / "PropertyValueAliases.txt") if name == "sc"}
    own = {char: codes[name] for field, name, *_ in _rows(folder / "Scripts.txt") for char in _code_points(field)}
    names_of = dict(own)
    for field, names, *_ in _rows(folder / "ScriptExtensions.txt"):
        names_of |= {char: f"{own[char]} {' '.join(sorted(names.split()))}" for char in _code_points(field)}
    lines = []
    # Consecutive code points with equal names have the same difference between code point and index.
    for (names, _), run in groupby(
        enumerate(sorted(names_of)), key=lambda pair: (names_of[pair[1]], pair[1] - pair[0])
    ):
        chars = [char for _, char in run]
        lines.append(f"{chars[0]:X} {chars[-1]:X} {names}\n")
    return "".join(lines)


def main(folder: Path, target: Path, version: str = "15.0.0") -> None:
    """Write both tables."""
    tables = {
        "confusables.txt": (
            "confusables.txt",
            "a sign, and the signs that it looks like, in hexadecimal",
            _confusables,
        ),
        "scripts.txt": (
            "Scripts.txt and ScriptExtensions.txt",
            "first and last sign, the script, and the scripts that they are used with, if not that one alone",
            _scripts,
        ),
    }
    for name, (files, line, build) in tables.items():
        head = _HEAD.format(files=files, version=version, line=line)
        (target / name).write_text(head + build(folder), encoding="ascii")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(__file__).parent)
