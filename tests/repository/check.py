"""Checks the tree without running any of it: `python -m tests.repository.check`, the last part of `make lint`.

Prints every fault with its file, its line and its remedy, and ends with status 1 if there is any.
"""

import gc
import sys
import traceback
from collections.abc import Iterator

if __name__ == "__main__":
    gc.disable()  # what is loaded and parsed here stays: searching it for garbage would take half of the time

from tests.repository import (
    code_checks,
    declaration_checks,
    document_checks,
    generated_checks,
    openapi_checks,
    packaging_checks,
)
from tests.repository.tree import ROOT, Check, Fault, Tree

CHECKS: tuple[Check, ...] = (
    code_checks.modules_open_with_one_sentence,
    code_checks.files_are_short,
    code_checks.functions_are_short,
    code_checks.nothing_is_left_for_later,
    code_checks.long_tests_exist_and_have_reasons,
    declaration_checks.no_two_errors_share_a_code,
    declaration_checks.every_error_has_code_status_remedy_and_message,
    declaration_checks.every_error_keeps_the_status_of_its_branch,
    declaration_checks.every_unavailable_says_when_to_come_back,
    declaration_checks.every_setting_is_used,
    declaration_checks.every_setting_is_described,
    document_checks.each_term_stands_once,
    document_checks.a_term_is_carried_by_the_modules_and_tables_that_it_names,
    document_checks.every_table_belongs_to_a_term,
    document_checks.every_package_is_in_the_architecture,
    document_checks.a_path_in_a_document_exists,
    document_checks.a_link_of_a_document_leads_to_a_file,
    document_checks.a_link_of_a_document_leads_to_a_section,
    document_checks.every_decision_has_its_number_its_rule_and_the_same_sections,
    document_checks.every_decision_points_at_files_that_exist,
    document_checks.the_table_of_decisions_lists_every_page,
    document_checks.the_page_on_reports_tells_every_part_and_metric,
    document_checks.the_page_on_reports_is_found_from_the_others,
    document_checks.every_figure_that_can_be_converted_is_listed,
    document_checks.the_commands_of_the_documents_are_targets_of_the_makefile,
    document_checks.the_changelog_has_the_current_version,
    generated_checks.no_generated_page_has_drifted,
    generated_checks.no_page_of_metrics_is_left_over,
    generated_checks.every_metric_has_a_section_with_equation_and_example,
    generated_checks.every_choice_and_every_command_has_a_section,
    packaging_checks.the_program_imports_only_what_its_own_requirements_install,
    openapi_checks.every_operation_has_a_name_of_its_own,
    openapi_checks.every_shape_is_used_and_every_reference_leads_to_one,
    openapi_checks.every_tag_is_described_and_used,
    openapi_checks.every_operation_says_what_it_does,
    openapi_checks.every_parameter_is_described,
    openapi_checks.every_operation_documents_the_errors_of_all,
    openapi_checks.every_error_of_an_operation_has_examples_of_its_declaration,
    openapi_checks.what_a_token_a_cursor_and_a_body_can_lack_is_documented,
    openapi_checks.what_stands_in_the_way_of_participants_is_documented,
    openapi_checks.what_is_sent_has_limits,
    openapi_checks.every_example_of_a_body_is_valid,
    openapi_checks.every_body_and_every_success_has_an_example,
    openapi_checks.every_example_fits_its_schema,
)


def main() -> int:
    """The exit status: 1 if a check has found something."""
    tree, status = Tree(), 0
    for check in CHECKS:
        for fault in _faults(check, tree):
            print(fault)  # noqa: T201
            status = 1
    return status


def _faults(check: Check, tree: Tree) -> Iterator[Fault]:
    """What a check finds; that it cannot go on is a fault too, so that the other checks are made."""
    try:
        yield from check(tree)
    except Exception as error:  # noqa: BLE001 (whatever the tree has that the check does not expect)
        last = traceback.extract_tb(error.__traceback__)[-1]
        wrong = f"{check.__name__} ended with {type(error).__name__}: {error}"
        yield Fault(last.filename.removeprefix(f"{ROOT}/"), last.lineno or 1, wrong, "Fix what it read, or the check")


if __name__ == "__main__":
    sys.exit(main())
