"""Generates docs/doctor.md: every check of `assay doctor`, from the declarations."""

from itertools import groupby

from markdown_parts import code, safe, table

from app.doctor import all_checks
from app.doctor.check_declaration import Check

_INTRODUCTION = """# Checks of `assay doctor`

`assay doctor` checks an installation and says how to fix what is wrong. It runs with or without a running service, and
continues after a failed check. Run it with the settings and the account of the service. It changes nothing, unless
`--repair` is given: then it first derives the ranked values again where they do not follow from the scores.

Each finding has the key of its check, a state, an observation, and a remedy where one is needed. The states:

- `ok`: nothing to do.
- `warning`: it works, but needs attention.
- `problem`: it does not work, or will lose data. The exit status is then 1.
- `skipped`: not checked, because it depends on a check that failed, concerns another kind of database or file store, or
  runs only with `--deep`.

Every check has a timeout: 30 seconds, with `--deep` an hour. `--json` prints all findings as one value.
"""
_PLACES = {"sqlite": "SQLite", "postgresql": "PostgreSQL", "folder": "folders", "bucket": "buckets"}


def page() -> str:
    """The whole page."""
    lines = [_INTRODUCTION]
    for area, checks in groupby(all_checks(), key=lambda each: each.function.__module__.rpartition(".")[2]):
        lines += [f"## {area.replace('_', ' ').capitalize().replace('sql', 'SQL').replace('Sqlite', 'SQLite')}", ""]
        lines += table(["check", "condition", "remedy"], [_row(each) for each in checks])
    return "\n".join(lines)


def _row(check: Check) -> list[str]:
    limits = [f"{_PLACES[check.backend]} only"] if check.backend else []
    limits += ["with `--deep`"] if check.deep else []
    meaning = safe(check.meaning) + (f" ({', '.join(limits)})" if limits else "")
    return [code(check.key), meaning, safe(check.remedy)]
