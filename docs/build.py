"""Writes the pages that are made from declarations, so that they cannot lie: `python docs/build.py`, or `make docs`."""

import sys
from collections.abc import Callable
from pathlib import Path

from app.api import document
from app.main import bare_app
from app.scoring.decision import DECISIONS
from app.scoring.metric import CATALOGUE
from app.scoring.options import OPTIONS
from app.settings import markdown

HERE = Path(__file__).resolve().parent


def conventions() -> str:
    """Every convention option: what peers disagree on, what may be chosen, and what holds by default."""
    lines = [
        "# Conventions",
        "",
        "Where tools disagree, a metric's value depends on a choice. Each choice is an option with a default; a recipe",
        "sets it for all metrics (`options`), a metric string for one (`f1_macro:zero_division=0`), `assay score` for a",
        "run (`--option zero_division=0`). The board prints the options in force beside each equation. An option that",
        "does not concern a metric is ignored for it; an unknown one is refused.",
    ]
    for option in OPTIONS.values():
        concerned = sum(option.name in metric.options for metric in CATALOGUE.values())
        lines += ["", f"## `{option.name}`", "", f"{option.meaning} Concerns {concerned} of the metrics.", ""]
        if not option.values:
            lines.append("A list of labels joined by `|`; by default empty.")
            continue
        lines += ["| value | meaning |", "|---|---|"]
        for value, meaning in zip(option.values, option.value_meanings, strict=True):
            lines.append(f"| {f'**`{value}`**' if value == option.default else f'`{value}`'} | {meaning} |")
    return "\n".join([*lines, "", "Bold: the default.", "", *_decisions()])


def _decisions() -> list[str]:
    """The rules by which hard labels follow from scores."""
    lines = [
        "## Hard labels from scores",
        "",
        "Where a file gives scores and no labels, metrics of hard labels see those that follow by the recipe's `decision`:",
        'the name of a rule, or an object such as `{"rule": "threshold", "threshold": 0.4}`. Without one it is `argmax`',
        "for exclusive classes, and `threshold` for multi-label data and for the single score of a positive label. The notes",
        "of a submission name the rule that was used.",
        "",
        "| rule | tasks | meaning |",
        "|---|---|---|",
    ]
    rows = (f"| `{name}` | {', '.join(rule.tasks)} | {rule.meaning} |" for name, rule in DECISIONS.items())
    return [*lines, *rows, ""]


def openapi() -> str:
    """The OpenAPI document of the routes."""
    return document.text(bare_app().openapi())


def formats() -> str:
    """Every file format with examples, and what each faulty file gets for an answer."""
    _look_beside()
    from formats_page import page  # noqa: PLC0415 (it lies beside this file, and reads the tests)

    return page()


def errata() -> str:
    """Slips in the documents that the catalogue draws on, recomputed."""
    _look_beside()
    from errata_page import page  # noqa: PLC0415 (it lies beside this file, and reads the tests)

    return page()


def _look_beside() -> None:
    """Let modules of this folder, and the tests, be imported."""
    sys.path[:0] = [name for name in (str(HERE), str(HERE.parent)) if name not in sys.path]


PAGES: dict[str, Callable[[], str]] = {
    "settings.md": markdown,
    "conventions.md": conventions,
    "formats.md": formats,
    "errata.md": errata,
    "openapi.json": openapi,
}


def main() -> None:
    """Write all pages."""
    for name, make in PAGES.items():
        (HERE / name).write_text(make(), encoding="utf-8")


if __name__ == "__main__":
    main()
