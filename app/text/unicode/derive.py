"""Makes the tables of signs that look alike and of scripts from the files of the Unicode Consortium.

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
    rows = sorted((int(sign, 16), target) for sign, target, *_ in _rows(folder / "confusables.txt"))
    return "".join(f"{sign:X} {' '.join(part.lstrip('0') for part in target.split())}\n" for sign, target in rows)


def _scripts(folder: Path) -> str:
    codes = {long: short for name, short, long, *_ in _rows(folder / "PropertyValueAliases.txt") if name == "sc"}
    own = {sign: codes[name] for field, name, *_ in _rows(folder / "Scripts.txt") for sign in _code_points(field)}
    told = {sign: own[sign] for sign in own}
    for field, names, *_ in _rows(folder / "ScriptExtensions.txt"):
        told |= {sign: f"{own[sign]} {' '.join(sorted(names.split()))}" for sign in _code_points(field)}
    lines = []
    for (names, _), run in groupby(enumerate(sorted(told)), key=lambda pair: (told[pair[1]], pair[1] - pair[0])):
        signs = [sign for _, sign in run]
        lines.append(f"{signs[0]:X} {signs[-1]:X} {names}\n")
    return "".join(lines)


def main(folder: Path, target: Path, version: str = "15.0.0") -> None:
    """Write both tables."""
    made = {
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
    for name, (files, line, make) in made.items():
        head = _HEAD.format(files=files, version=version, line=line)
        (target / name).write_text(head + make(folder), encoding="ascii")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(__file__).parent)
