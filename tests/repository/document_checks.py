"""Documents name modules, tables, files and sections that exist, use one term for one thing, and leave nothing out."""

import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath

from app import __version__
from app.analysis.convert.constraints import WHOLE_TASK_MEASURES
from app.analysis.convert.measures import ONE_CLASS_MEASURES, RATIO_MEASURES
from app.scoring.declaration.metric import CATALOGUE
from app.scoring.reports.detailed_report import REPORT_PARTS
from app.scoring.reports.per_class_report import REPORTED_METRICS
from app.store.account_tables import User
from app.store.tables import Base
from tests.repository.tree import ROOT, Fault, Tree

GLOSSARY, ARCHITECTURE, REPORTS = "docs/glossary.md", "docs/architecture.md", "docs/reports.md"
DECISIONS = "docs/decisions"
DECISION_SECTIONS = ["Context", "Decision", "Consequences", "Rejected alternatives", "Evidence", "Implementation"]
TARGETS = ("setup", "run", "test", "lint", "bench", "help")
TABLES = User.metadata.tables


def _documents(tree: Tree) -> list[str]:
    return ["README.md", "CONTRIBUTING.md", "SECURITY.md", *tree.files("docs", ".md"), *tree.files("examples", ".md")]


def _glossary(tree: Tree) -> list[list[str]]:
    lines = [line for line in tree.text(GLOSSARY).splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in rows if row[0] != "term"]


def _quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def each_term_stands_once(tree: Tree) -> Iterator[Fault]:
    for term, times in Counter(row[0] for row in _glossary(tree)).items():
        if times > 1:
            yield _at_term(tree, term, f"the term stands {times} times", "Keep one row")


def a_term_is_carried_by_the_modules_and_tables_that_it_names(tree: Tree) -> Iterator[Fault]:
    for row in _glossary(tree):
        if len(row) != 4 or not row[1].endswith(".") or not _quoted(row[2]):
            yield _at_term(tree, row[0], "the row is not complete", "Give a sentence, a module and tables")
            continue
        stems = [re.sub(r"(ies|y|s|ing|d|t)$", "", word) for word in re.findall(r"[a-z]{3,}", row[0].lower())]
        for path in _quoted(row[2]):
            text = (path + tree.text(f"app/{path}")).lower() if tree.exists(f"app/{path}") else ""
            if not any(stem in text for stem in stems):
                yield _at_term(tree, row[0], f"app/{path} does not use the term", "Name the module that does")
        for name in _quoted(row[3]):
            table, _, column = name.partition(".")
            if table not in TABLES or (column and column not in TABLES[table].columns):
                yield _at_term(tree, row[0], f"there is no table or column {name}", "Correct the name")


def every_table_belongs_to_a_term(tree: Tree) -> Iterator[Fault]:
    named = {name.partition(".")[0] for row in _glossary(tree) for name in _quoted(row[3])}
    for table in sorted(Base.metadata.tables.keys() - named):
        yield Fault(GLOSSARY, 1, f"no term has the table {table}", "Add it to the row of its term")


def every_package_is_in_the_architecture(tree: Tree) -> Iterator[Fault]:
    parts = {"/".join(path.split("/")[1:2]) + ("/" if path.count("/") > 1 else "") for path in tree.program}
    named = set(re.findall(r"`([a-z_]+(?:/|\.py))", tree.text(ARCHITECTURE)))
    for part in sorted(parts - named - {"__init__.py"}):
        yield Fault(ARCHITECTURE, 1, f"app/{part} is not in the page", "Say where it belongs and what it is for")


def a_path_in_a_document_exists(tree: Tree) -> Iterator[Fault]:
    """`app/…`, `tests/…` and, in the architecture, paths of packages without their root."""
    roots = "app|tests|docs|migrations|benchmarks|examples"
    for page in _documents(tree):
        found = re.findall(rf"`((?:{roots})/[\w/.-]*[\w/])`", tree.text(page))
        missing = {path for path in found if not tree.exists(path)}
        if page == ARCHITECTURE:
            found = re.findall(r"`([a-z_]+/[a-z_/]*(?:\.py)?)`", tree.text(page))
            missing |= {path for path in found if not tree.exists(f"app/{path}") and not tree.exists(path)}
        for path in sorted(missing):
            yield Fault(page, tree.line(page, f"`{path}`"), f"there is no {path}", "Name what is there now")


def a_link_of_a_document_leads_to_a_file(tree: Tree) -> Iterator[Fault]:
    for page in _documents(tree):
        for target in re.findall(r"\]\(([^)#\s]+)", tree.text(page)):
            if "://" not in target and not target.startswith("mailto:") and not tree.exists(_beside(page, target)):
                yield Fault(page, tree.line(page, f"]({target}"), f"the link to {target} leads nowhere", "Correct it")


def a_link_of_a_document_leads_to_a_section(tree: Tree) -> Iterator[Fault]:
    for page in _documents(tree):
        for target, anchor in set(re.findall(r"\]\(([^)#\s:]*\.md|)#([^)\s]+)\)", tree.text(page))):
            there = _beside(page, target) if target else page
            if tree.exists(there) and anchor not in _anchors(tree, there):
                wrong = f"{there} has no section {anchor}"
                yield Fault(page, tree.line(page, f"#{anchor})"), wrong, "Link to a section that is there")


def every_decision_has_its_number_its_rule_and_the_same_sections(tree: Tree) -> Iterator[Fault]:
    for number, page in enumerate(_decisions(tree), 1):
        text = tree.text(page)
        if not page.startswith(f"{DECISIONS}/{number:04d}-") or not text.startswith(f"# {number}. "):
            yield Fault(page, 1, f"its number is not {number}", "Number the pages without a gap, title and name alike")
        if (found := re.findall(r"^## (.+)$", text, flags=re.MULTILINE)) != DECISION_SECTIONS:
            yield Fault(page, 1, f"its sections are {found}", f"Write {', '.join(DECISION_SECTIONS)}")
        if not re.search(r"^> \*\*", text, flags=re.MULTILINE):
            yield Fault(page, 1, "it has no rule", "Give the rule in a line that begins with '> **'")


def every_decision_points_at_files_that_exist(tree: Tree) -> Iterator[Fault]:
    for page in _decisions(tree):
        where = tree.text(page).partition("## Implementation")[2]
        paths = re.findall(r"`((?:app|tests|docs)/[^`]+|[A-Z][a-z]+file|[a-z-]+\.(?:txt|toml))`", where)
        if not paths:
            yield Fault(page, 1, "its implementation names no file", "Name the files that carry it out")
        for path in (path for path in paths if not tree.exists(path)):
            yield Fault(page, tree.line(page, f"`{path}`"), f"there is no {path}", "Name what is there now")


def the_table_of_decisions_lists_every_page(tree: Tree) -> Iterator[Fault]:
    table = f"{DECISIONS}/README.md"
    listed = re.findall(r"\]\((\d{4}-[a-z0-9-]+\.md)\)", tree.text(table))
    if listed != (pages := [page.rpartition("/")[2] for page in _decisions(tree)]):
        yield Fault(table, 1, f"it lists {listed} instead of {pages}", "List all pages in their order")


def the_page_on_reports_tells_every_part_and_metric(tree: Tree) -> Iterator[Fault]:
    page = tree.text(REPORTS)
    told = re.findall(r"^\| `(\w+)` \| `(\w+)` \| .+ \|$", page, flags=re.MULTILINE)
    if told != list(REPORT_PARTS.items()):
        yield Fault(REPORTS, 1, f"its parts are {told} instead of {list(REPORT_PARTS.items())}", "Tell every part")
    tables = page.partition("rows of the table")[2].partition("## ")[0]
    first = "".join(re.findall(r"^\|([^|]+)\|", tables, flags=re.MULTILINE))
    for part in sorted(set(re.findall(r"`(\w+)`", first)) ^ set(REPORT_PARTS)):
        yield Fault(REPORTS, 1, f"the tables of rows miss or invent the part {part}", "Give each part its rows")
    links = {key for key, _ in re.findall(r"\[`(\w+)`\]\((metrics/\w+\.md)#\1\)", page)}
    for key in sorted(links ^ ({key for key, metric in CATALOGUE.items() if not metric.scalar} | REPORTED_METRICS)):
        yield Fault(REPORTS, tree.line(REPORTS, f"`{key}`"), f"{key} is missing or no such metric", "Link each metric")


def the_page_on_reports_is_found_from_the_others(tree: Tree) -> Iterator[Fault]:
    for page, link in (("README.md", "(docs/reports.md)"), ("docs/metrics/README.md", "(../reports.md)")):
        if link not in tree.text(page):
            yield Fault(page, 1, "it does not link to docs/reports.md", "Link to it")


def every_figure_that_can_be_converted_is_listed(tree: Tree) -> Iterator[Fault]:
    averaged = {f"{key}_{kind}" for key in RATIO_MEASURES for kind in ("macro", "micro", "weighted")}
    for key in sorted({*ONE_CLASS_MEASURES, *WHOLE_TASK_MEASURES} - averaged):
        if f"`{key}`" not in tree.text("docs/convert.md"):
            yield Fault("docs/convert.md", 1, f"{key} is not listed", "Say what can be given")


def the_commands_of_the_documents_are_targets_of_the_makefile(tree: Tree) -> Iterator[Fault]:
    targets = set(re.findall(r"^([a-z]+):.*## ", tree.text("Makefile"), flags=re.MULTILINE))
    if not os.access(ROOT / ".ci" / "run", os.X_OK):
        yield Fault(".ci/run", 1, "it is not executable", "Run chmod +x .ci/run")
    for target in (target for target in TARGETS if target not in targets):
        yield Fault("Makefile", 1, f"there is no target {target} with a description", "Documents name it: keep it")
    for page in _documents(tree):
        for target in sorted(set(re.findall(r"`make ([a-z]+)", tree.text(page))) - targets):
            yield Fault(page, tree.line(page, f"`make {target}"), f"there is no make {target}", "Name a target")


def the_changelog_has_the_current_version(tree: Tree) -> Iterator[Fault]:
    if f"## [{__version__}]" not in tree.text("CHANGELOG.md"):
        yield Fault("CHANGELOG.md", 1, f"it has no section {__version__}", "Open the section")
    if f'\nversion = "{__version__}"\n' not in tree.text("pyproject.toml"):
        line = tree.line("pyproject.toml", "version =")
        yield Fault("pyproject.toml", line, "its version is not that of app/__init__.py", "Set both alike")


def _decisions(tree: Tree) -> list[str]:
    return [page for page in tree.files(DECISIONS, ".md") if page.rpartition("/")[2][0].isdigit()]


def _anchors(tree: Tree, page: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", tree.text(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def _beside(page: str, target: str) -> str:
    """The path from the root of what a page links to."""
    parts: list[str] = []
    for part in (PurePosixPath(page).parent / target).parts:
        if part == "..":
            parts[-1:] = []  # a link that leads above the root exists nowhere
        else:
            parts.append(part)
    return "/".join(parts)


def _at_term(tree: Tree, term: str, wrong: str, remedy: str) -> Fault:
    return Fault(GLOSSARY, tree.line(GLOSSARY, f"| {term} |"), f"{term}: {wrong}", remedy)
