"""Runs many cases of one claim in one test: a case costs a call, not a test that every worker collects and reports."""

import functools
import inspect
import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from hypothesis import is_hypothesis_test

Test = Callable[..., None]
_SHOWN = 20
"""Failures that are told in full; of the others only the names."""


def for_each(names: str, values: Iterable[Any]) -> Callable[[Test], Test]:
    """Call a test for each of these values, as `pytest.mark.parametrize` would, and name all cases that fail.

    Fixtures are the same for all cases. Several of these decorators give all combinations.
    """
    fields = tuple(name.strip() for name in names.split(","))
    cases = [value if len(fields) > 1 else (value,) for value in values]

    def decorate(test: Test) -> Test:
        assert not is_hypothesis_test(test), "parametrize a property: its examples would be counted per case"

        @functools.wraps(test)
        def run(*given: Any, **fixtures: Any) -> None:
            failed = []
            for case in cases:
                try:
                    test(*given, **dict(zip(fields, case, strict=True)), **fixtures)
                except pytest.skip.Exception as skipped:
                    raise AssertionError(f"the case {_named(case)} skips: skip the test") from skipped
                except (Exception, pytest.fail.Exception) as fault:  # noqa: BLE001 (any fault fails the case)
                    failed.append((case, fault))
            assert cases, "there is no case"
            if failed:
                raise AssertionError(_describe(failed, len(cases))) from failed[0][1]

        signature = inspect.signature(test)
        left = [one for name, one in signature.parameters.items() if name not in fields]
        assert len(left) == len(signature.parameters) - len(fields), "each field is a parameter of the test"
        vars(run)["__signature__"] = signature.replace(parameters=left)
        return run

    return decorate


def _describe(failed: Sequence[tuple[Sequence[Any], BaseException]], cases: int) -> str:
    told = [f"{_named(case)}: {_summary(fault)}" for case, fault in failed[:_SHOWN]]
    rest = [_named(case) for case, _ in failed[_SHOWN:]]
    more = [f"and {len(rest)} more: {'; '.join(rest)}"] if rest else []
    return "\n".join([f"{len(failed)} of {cases} cases fail", *told, *more])


def _named(case: Sequence[Any]) -> str:
    return ", ".join(value if isinstance(value, str) else repr(value)[:80] for value in case)


def _summary(fault: BaseException) -> str:
    frames = traceback.extract_tb(fault.__traceback__)
    return f"{type(fault).__name__} in line {frames[-1].lineno} of {frames[-1].name}: {fault}"
