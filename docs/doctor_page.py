"""Makes docs/doctor.md: every check of `assay doctor`, from the declarations."""

from itertools import groupby

from markdown_parts import code, safe, table

from app.doctor import all_checks
from app.doctor.check_declaration import Check

_INTRODUCTION = """# What the doctor looks at

`assay doctor` checks an installation and says how to mend what is wrong. It changes nothing, runs beside a service at
work or without one, and goes on after a check that fails. Run it with the settings and as the account of the service.

Each finding has the key of its check, a state, what was seen, and a remedy where one is needed. The states:

- `ok`: all is well.
- `warning`: it works, but somebody should know.
- `problem`: it does not work, or will lose something. The exit status is then 1.
- `skipped`: it was not looked at, because it needs a check that failed, concerns another kind of database or file
  store, or is made with `--deep` alone.

Every check has an end: 30 seconds, with `--deep` an hour. `--json` gives all findings as one value.
"""
_PLACES = {"sqlite": "SQLite", "postgresql": "PostgreSQL", "folder": "folders", "bucket": "buckets"}


def page() -> str:
    """The whole page."""
    lines = [_INTRODUCTION]
    for area, checks in groupby(all_checks(), key=lambda each: each.function.__module__.rpartition(".")[2]):
        lines += [f"## {area.replace('_', ' ').capitalize().replace('sql', 'SQL').replace('Sqlite', 'SQLite')}", ""]
        lines += table(["check", "what is well", "otherwise"], [_row(each) for each in checks])
    return "\n".join(lines)


def _row(check: Check) -> list[str]:
    limits = [f"{_PLACES[check.backend]} only"] if check.backend else []
    limits += ["with `--deep`"] if check.deep else []
    meaning = safe(check.meaning) + (f" ({', '.join(limits)})" if limits else "")
    return [code(check.key), meaning, safe(check.remedy)]
