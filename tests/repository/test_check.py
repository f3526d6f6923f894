"""Each check of the tree finds a fault that is planted for it."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import pytest
from pydantic import TypeAdapter

from app.errors import QuotaExceeded, Unavailable
from app.settings import Settings
from tests.each_case import for_each
from tests.repository import check, code_checks, declaration_checks, openapi_checks
from tests.repository.tree import Fault, Tree

TREE = Tree()  # read once


def program(text: str) -> Tree:
    """The program as one file with this text."""
    return Tree({"app/planted.py": text}, only_planted=True)


def page(path: str, words: str, instead: str) -> Tree:
    """The tree with other words in a page."""
    assert words in TREE.text(path)
    return Tree({path: TREE.text(path).replace(words, instead)})


def document(change: Callable[[dict[str, Any]], object], path: str = "/api/v1/tokens", method: str = "post") -> Tree:
    """The tree with one operation changed."""
    paths = dict(TREE.document["paths"])
    operation = deepcopy(paths[path][method])
    change(operation)
    return Tree(openapi=TREE.document | {"paths": paths | {path: paths[path] | {method: operation}}})


def shapes(**others: Any) -> Tree:
    """The tree with other shapes beside those of the document."""
    schemas = TREE.document["components"]["schemas"] | others
    return Tree(openapi=TREE.document | {"components": TREE.document["components"] | {"schemas": schemas}})


def beside_short_ones(text: str) -> Tree:
    """The program as one file with this text and two short ones, so that half of all is short."""
    short = "def short():\n    pass\n"
    return Tree({"app/planted.py": text, "app/one.py": short, "app/two.py": short}, only_planted=True)


class Undescribed(Settings):
    nobody_reads_this: int = 1


PLANTED: dict[str, Callable[[], Tree]] = {
    "modules_open_with_one_sentence": lambda: program('"""No sentence"""\n'),
    "files_are_short": lambda: beside_short_ones("pass\n" * 401),
    "functions_are_short": lambda: beside_short_ones("def long():\n" + "    pass\n" * 50),
    "nothing_is_left_for_later": lambda: program("raise Not" + "ImplementedError\n"),
    "long_tests_exist_and_have_reasons": lambda: Tree(
        long_tests={"tests/repository/test_check.py::test_no": "A slow one."}
    ),
    "every_setting_is_used": lambda: Tree({"app/planted.py": ""}, settings=Undescribed, only_planted=True),
    "every_setting_is_described": lambda: Tree(settings=Undescribed),
    "each_term_stands_once": lambda: page("docs/glossary.md", "| gold ", "| phase |\n| gold "),
    "a_term_is_carried_by_the_modules_and_tables_that_it_names": lambda: page(
        "docs/glossary.md", "`challenges`", "`contests`"
    ),
    "every_table_belongs_to_a_term": lambda: page("docs/glossary.md", "`announcements`", ""),
    "every_package_is_in_the_architecture": lambda: Tree({"app/planted/__init__.py": ""}, only_planted=True),
    "a_path_in_a_document_exists": lambda: page("README.md", "# Assay", "`app/nowhere.py`"),
    "a_link_of_a_document_leads_to_a_file": lambda: page("README.md", "# Assay", "[nowhere](docs/nowhere.md)"),
    "a_link_of_a_document_leads_to_a_section": lambda: page("README.md", "# Assay", "[](docs/glossary.md#nowhere)"),
    "every_decision_has_its_number_its_rule_and_the_same_sections": lambda: Tree(
        {"docs/decisions/0099-late.md": "# 99."}
    ),
    "every_decision_points_at_files_that_exist": lambda: Tree({"docs/decisions/0099-late.md": "# 99."}),
    "the_table_of_decisions_lists_every_page": lambda: Tree({"docs/decisions/0099-late.md": "# 99."}),
    "the_page_on_reports_tells_every_part_and_metric": lambda: page("docs/reports.md", "](metrics/", "](metric/"),
    "the_page_on_reports_is_found_from_the_others": lambda: page("README.md", "(docs/reports.md)", "(docs)"),
    "every_figure_that_can_be_converted_is_listed": lambda: page("docs/convert.md", "`accuracy`", "accuracy"),
    "the_commands_of_the_documents_are_targets_of_the_makefile": lambda: page("Makefile", "bench:", "benches:"),
    "the_changelog_has_the_current_version": lambda: page("CHANGELOG.md", "## [0", "## [9"),
    "no_generated_page_has_drifted": lambda: Tree(pages={"docs/settings.md": "# Settings\n"}),
    "no_page_of_metrics_is_left_over": lambda: Tree({"docs/metrics/planted.md": ""}, pages={}),
    "every_metric_has_a_section_with_equation_and_example": lambda: page("docs/metrics/README.md", "#accuracy)", ")"),
    "every_choice_and_every_command_has_a_section": lambda: page("docs/commands.md", "assay serve", "assay served"),
    "the_program_imports_only_what_its_own_requirements_install": lambda: Tree(
        {"app/planted.py": "import sklearn\n"}, only_planted=True
    ),
    "every_operation_has_a_name_of_its_own": lambda: document(lambda one: one.update(operationId="get_me")),
    "every_shape_is_used_and_every_reference_leads_to_one": lambda: shapes(Unused={}),
    "every_tag_is_described_and_used": lambda: document(lambda one: one.update(tags=["planted"])),
    "every_operation_says_what_it_does": lambda: document(lambda one: one.update(summary="ends.")),
    "every_parameter_is_described": lambda: document(lambda one: one.update(parameters=[{"name": "planted"}])),
    "every_operation_documents_the_errors_of_all": lambda: document(lambda one: one["responses"].pop("503")),
    "every_error_of_an_operation_has_examples_of_its_declaration": lambda: document(
        lambda one: one["responses"].update({"409": one["responses"]["401"]})
    ),
    "what_a_token_a_cursor_and_a_body_can_lack_is_documented": lambda: document(
        lambda one: one["responses"].pop("413")
    ),
    "what_stands_in_the_way_of_participants_is_documented": lambda: document(
        lambda one: one["responses"].clear(), "/api/v1/submissions/{submission_id}/report", "get"
    ),
    "what_is_sent_has_limits": lambda: document(lambda one: one["responses"].pop("422")),
    "every_body_and_every_success_has_an_example": lambda: document(
        lambda one: one["responses"].update({"201": {"content": {"application/json": {"schema": {}}}}})
    ),
    "every_example_fits_its_schema": lambda: shapes(Planted={"type": "object", "examples": [1]}),
}
"""A tree with a fault for each check; `IN_PLACE` has those of errors and of request bodies."""

IN_PLACE: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "no_two_errors_share_a_code": lambda patch: patch.setattr(QuotaExceeded, "code", Unavailable.code),
    "every_error_has_code_status_remedy_and_message": lambda patch: patch.setattr(QuotaExceeded, "remedy", "none"),
    "every_error_keeps_the_status_of_its_branch": lambda patch: patch.setattr(QuotaExceeded, "status", 409),
    "every_unavailable_says_when_to_come_back": lambda patch: patch.setattr(
        declaration_checks, "Unavailable", QuotaExceeded
    ),
    "every_example_of_a_body_is_valid": lambda patch: patch.setattr(
        "tests.repository.openapi_checks.bodies",
        lambda: [("post_token", TypeAdapter(int), ["no"])],
    ),
}


def found(name: str) -> Iterator[Fault]:
    (function,) = [function for function in check.CHECKS if function.__name__ == name]
    yield from function(PLANTED[name]() if name in PLANTED else Tree())


def test_every_check_finds_the_fault_that_is_planted_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [function.__name__ for function in check.CHECKS]
    assert sorted(names) == sorted(PLANTED.keys() | IN_PLACE.keys())
    blind = []
    for name in names:
        with monkeypatch.context() as patch:
            if name in IN_PLACE:
                IN_PLACE[name](patch)
            faults = list(found(name))
        if not faults or not all(fault.line and str(fault).endswith(".") for fault in faults):
            blind.append(name)
    assert blind == []


OPERATION: dict[str, Callable[[dict[str, Any]], object]] = {
    "the summary is": lambda one: one.update(summary="ends."),
    "the description is": lambda one: one.update(description="no end"),
    "it has not exactly one tag": lambda one: one.pop("tags"),
    "no success is documented": lambda one: one.update(responses={"400": {}}),
    "its parameters are": lambda one: one.update(parameters=[{"name": "planted", "in": "path"}]),
}


@for_each("words", OPERATION)
def test_each_claim_about_an_operation_can_fail(words: str) -> None:
    change = OPERATION[words]
    tree = document(change, *(("/api/v1/users/{user_id}", "get") if "parameters" in words else ()))
    found = [fault.wrong for fault in openapi_checks.every_operation_says_what_it_does(tree)]
    assert any(words in wrong for wrong in found), found


@for_each("words, text", [("401 lines", "pass\n" * 401), ("51 lines", "def long():\n" + "    pass\n" * 50)])
def test_what_is_too_long_is_found_among_what_is_short(words: str, text: str) -> None:
    tree = beside_short_ones(text)
    found = [*code_checks.files_are_short(tree), *code_checks.functions_are_short(tree)]
    assert [words in fault.wrong for fault in found] == [True], found


def test_a_check_that_cannot_go_on_is_a_fault_and_stops_no_other(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(tree: Tree) -> Iterator[Fault]:
        yield Fault("app", 1, str(tree.document["no such part"]), "Fix it")

    monkeypatch.setattr(
        check, "CHECKS", (broken, lambda _: iter([Fault("app/planted.py", 7, "it is wrong", "Fix it")]))
    )
    assert check.main() == 1
    first, second = capsys.readouterr().out.splitlines()
    assert "broken ended with KeyError: 'no such part'. Fix what it read, or the check." in first
    assert second.startswith("app/planted.py:7: ")


def test_a_fault_is_printed_with_its_place_and_remedy_and_fails_the_program(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fault = Fault("app/planted.py", 7, "it is wrong", "Fix it")
    cases: list[tuple[list[Fault], int, str]] = [([], 0, ""), ([fault], 1, "app/planted.py:7: it is wrong. Fix it.\n")]
    for faults, status, told in cases:
        monkeypatch.setattr(check, "CHECKS", (lambda _, faults=faults: iter(faults),))
        assert check.main() == status
        assert capsys.readouterr().out == told
