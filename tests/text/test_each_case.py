"""The decorator that runs many cases in one test: all of them run, and each that fails is named."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.each_case import for_each


def test_each_case_runs_and_each_that_fails_is_named() -> None:
    seen = []

    @for_each("one, other", [("a", 1), ("b", 2), ("c", 3)])
    @for_each("third", [True, False])
    def claim(one: str, other: int, *, third: bool, given: str) -> None:
        seen.append((one, other, third, given))
        assert other != 2 or third, "two and not third"
        if one == "c":
            pytest.fail("never c")

    with pytest.raises(AssertionError) as failed:
        claim(given="x")
    assert seen == [
        (one, other, third, "x") for one, other in zip("abc", (1, 2, 3), strict=True) for third in (True, False)
    ]
    told = str(failed.value)
    assert told.startswith("2 of 3 cases fail\nb, 2: ")
    assert told.index("two and not third") < told.index("\nc, 3: ") < told.index("never c")
    assert "a, 1" not in told


@for_each("size", [1, 2])
def test_fixtures_are_given_to_all_cases(tmp_path: Path, size: int) -> None:
    (tmp_path / "file").write_text("x" * size)
    assert (tmp_path / "file").stat().st_size == size


def test_no_case_at_all_fails() -> None:
    @for_each("one", [])
    def claim(one: str) -> None:
        raise RuntimeError(one)

    with pytest.raises(AssertionError, match="no case"):
        claim()


def test_more_failures_than_are_told_in_full_are_named() -> None:
    @for_each("one", range(25))
    def claim(one: int) -> None:
        assert one < 0

    with pytest.raises(AssertionError, match=r"25 of 25 cases fail[\s\S]*and 5 more: 20; 21; 22; 23; 24"):
        claim()


def test_a_case_that_skips_fails_the_test() -> None:
    @for_each("one", [1, 2])
    def claim(one: int) -> None:
        if one == 2:
            pytest.skip("not here")

    with pytest.raises(AssertionError, match="the case 2 skips"):
        claim()


def test_a_property_is_refused() -> None:
    @given(st.integers())
    def claim(one: int) -> None:
        assert one

    with pytest.raises(AssertionError, match="parametrize a property"):
        for_each("one", [1])(claim)
