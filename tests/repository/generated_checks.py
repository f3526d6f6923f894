"""The pages made from declarations are as the declarations say, and tell of every metric, choice and command."""

import re
from collections.abc import Iterator

from app.cli.command_tree import iter_commands
from app.scoring.declaration.convention_presets import PRESETS
from app.scoring.declaration.metric import CATALOGUE
from app.scoring.declaration.options import OPTIONS
from app.scoring.metrics import FAMILIES
from tests.repository.tree import Fault, Tree

REMEDY = "Run make docs and commit what it writes"


def no_generated_page_has_drifted(tree: Tree) -> Iterator[Fault]:
    for page, made in tree.generated.items():
        written = tree.text(page) if tree.exists(page) else ""
        if written != made:
            pairs = enumerate(zip(f"{written}\n".splitlines(), f"{made}\n".splitlines(), strict=False), 1)
            line = next((number for number, (ours, theirs) in pairs if ours != theirs), written.count("\n") + 1)
            yield Fault(page, line, "the page is out of date", REMEDY)


def no_page_of_metrics_is_left_over(tree: Tree) -> Iterator[Fault]:
    for page in tree.files("docs/metrics", ".md"):
        if page not in tree.generated:
            yield Fault(page, 1, "nothing writes this page", "Run make docs, which deletes it")


def every_metric_has_a_section_with_equation_and_example(tree: Tree) -> Iterator[Fault]:
    index, told = tree.text("docs/metrics/README.md"), 0
    for family in FAMILIES:
        page = f"docs/metrics/{family.name}.md"
        if f"]({family.name}.md)" not in index:
            yield Fault("docs/metrics/README.md", 1, f"the family {family.name} is not in the index", REMEDY)
        sections = dict(
            zip(_headings(tree, page), re.split(r"^## ", tree.text(page), flags=re.MULTILINE)[1:], strict=False)
        )
        for key in family.keys:
            told += 1
            section = sections.get(key, "")
            examples = re.findall(r"^\| example \| (.+) \|$", section, flags=re.MULTILINE)
            if "```math\n" not in section or len(examples) != 1 or " on [data " not in examples[0]:
                yield Fault(page, tree.line(page, f"## `{key}`"), f"{key} has no equation or no example", REMEDY)
            if f"[`{key}`]({family.name}.md#{key})" not in index:
                yield Fault("docs/metrics/README.md", 1, f"{key} is not in the index", REMEDY)
    if told != len(CATALOGUE):
        yield Fault("app/scoring/metrics/__init__.py", 1, f"{told} of {len(CATALOGUE)} metrics are in a family", REMEDY)


def every_choice_and_every_command_has_a_section(tree: Tree) -> Iterator[Fault]:
    parameters = {param.name for metric in CATALOGUE.values() for param in metric.params if param.default is not None}
    for name in sorted({*OPTIONS, *parameters, *PRESETS} - set(_headings(tree, "docs/conventions.md"))):
        yield Fault("docs/conventions.md", 1, f"the choice {name} has no section", REMEDY)
    commands = {f"assay {' '.join(words)}" for words, _ in iter_commands()}
    told = {heading for heading in _headings(tree, "docs/commands.md") if heading.startswith("assay ")}
    for command in sorted(commands ^ told):
        yield Fault("docs/commands.md", 1, f"{command} has no section, or is no command", REMEDY)


def _headings(tree: Tree, page: str) -> list[str]:
    return re.findall(r"^#{2,3} `?([^`\n]+)`?$", tree.text(page), flags=re.MULTILINE)
