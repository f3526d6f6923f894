"""The program imports only what its own requirements install, and every requirement is an exact pin with a hash."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata

from tests.repository.tree import Fault, Tree

PIN = re.compile(r"^([a-z0-9][a-z0-9._-]*)(?:\[[a-z0-9,_-]+\])?==([^ ;\\]+)")


def the_program_imports_only_what_its_own_requirements_install(tree: Tree) -> Iterator[Fault]:
    """Tests run with the packages of developers too, so no other test would miss one that an installation lacks."""
    project = tomllib.loads(tree.text("pyproject.toml"))["project"]
    installed = set(pins(tree.text("requirements.txt")))
    installed |= {name_of(each) for each in project["optional-dependencies"]["arrow"]}
    distributions = metadata.packages_distributions()
    ours = {"app", *sys.stdlib_module_names}
    for path in [*tree.program, *tree.files("migrations", ".py")]:
        for line, module in _imported(tree.nodes(path)):
            if module not in ours and not installed & {name_of(each) for each in distributions.get(module, ())}:
                yield Fault(path, line, f"requirements.txt does not install {module}", "Declare it and run make pins")


def name_of(requirement: str) -> str:
    """The normalised name of what a requirement line asks for."""
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert match is not None
    return re.sub(r"[-_.]+", "-", match[0]).lower()


def pins(text: str) -> dict[str, str]:
    """Name to version of every pin of a requirements file; each must be exact and carry a hash."""
    found: dict[str, str] = {}
    for block in re.split(r"^(?=[^\s#])", re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE), flags=re.MULTILINE):
        if block.strip():
            pin = PIN.match(block)
            assert pin is not None, block
            assert "--hash=sha256:" in block, block
            found[name_of(pin[1])] = pin[2]
    return found


def _imported(nodes: list[ast.AST]) -> Iterator[tuple[int, str]]:
    """Each line that imports, and the top-level module that it imports."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, each.name.partition(".")[0]) for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.lineno, node.module.partition(".")[0]
