"""The code keeps its proportions and says what it is: docstrings, sizes, nothing left for later."""

import ast
from collections.abc import Iterator
from statistics import median_low
from typing import cast

from tests.repository.tree import Fault, Tree

MOST_LINES, HALF_HAVE_LINES = 400, 150
MOST_LINES_OF_FUNCTION, HALF_HAVE_LINES_OF_FUNCTION = 50, 15
LATER = ("TO" + "DO", "FIX" + "ME", "XX" + "X", "for " + "now", "Not" + "Implemented")


def modules_open_with_one_sentence(tree: Tree) -> Iterator[Fault]:
    for path in tree.program:
        opening = (ast.get_docstring(cast("ast.Module", tree.nodes(path)[0])) or "").split("\n\n")[0]
        first = " ".join(opening.split())
        if not first.endswith((".", ":")) or not 10 <= len(first) <= 400:
            yield Fault(
                path, 1, "the module does not open with one sentence", "Say what it is for, in 10 to 400 letters"
            )


def files_are_short(tree: Tree) -> Iterator[Fault]:
    for path in [*tree.program, *tree.tests]:
        if (lines := tree.text(path).count("\n")) > MOST_LINES:
            yield Fault(path, MOST_LINES + 1, f"{lines} lines are more than {MOST_LINES}", "Divide the file by subject")
    if median_low(tree.text(path).count("\n") for path in tree.program) > HALF_HAVE_LINES:
        yield Fault("app", 1, f"half of the files have more than {HALF_HAVE_LINES} lines", "Divide the longest")


def functions_are_short(tree: Tree) -> Iterator[Fault]:
    lengths = []
    for path in tree.program:
        for node in _functions(tree, path):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            lengths.append(lines)
            if lines > MOST_LINES_OF_FUNCTION:
                wrong = f"{node.name} has {lines} lines, more than {MOST_LINES_OF_FUNCTION}"
                yield Fault(path, node.lineno, wrong, "Give its parts functions of their own")
    if median_low(lengths) > HALF_HAVE_LINES_OF_FUNCTION:
        wrong = f"half of the functions have more than {HALF_HAVE_LINES_OF_FUNCTION} lines"
        yield Fault("app", 1, wrong, "Divide the longest")


def nothing_is_left_for_later(tree: Tree) -> Iterator[Fault]:
    for path in [*tree.program, *tree.tests]:
        for word in LATER:
            if word in tree.text(path):
                yield Fault(path, tree.line(path, word), f"'{word}' leaves something for later", "Do it or delete it")


def long_tests_exist_and_have_reasons(tree: Tree) -> Iterator[Fault]:
    where = "tests/long_tests.py"
    for node, reason in tree.long_tests.items():
        line = tree.line(where, f'"{node}"')
        path, _, name = node.partition("::")
        if not tree.exists(path) or (name and name not in _names(tree, path)):
            yield Fault(where, line, f"there is no test {node}", "Delete the line or correct its name")
        if not reason.endswith(".") or len(reason.split()) < 4:
            yield Fault(where, line, f"the reason of {node} is not a sentence", "Say why the test is worth its time")


def _functions(tree: Tree, path: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in tree.nodes(path):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


def _names(tree: Tree, path: str) -> set[str]:
    return {node.name for node in _functions(tree, path)}
