"""How property tests draw their examples: the same ones everywhere, or ever new ones in `make explore`.

`TEST_SCOPE=full`, which .ci/run sets, draws a quarter of the examples that a test states, and at least 8. Otherwise each
property draws an eighth of them, and at least 5, which leaves the tests quick enough to be run before each commit.
"""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings
from hypothesis.database import DirectoryBasedExampleDatabase
from hypothesis.internal.conjecture import providers

FIXED_PROFILE = "same"
EXPLORE_PROFILE = "explore"
QUICK_DIVISOR, FULL_DIVISOR = 8, 4  # of the examples that a property states
QUICK_LEAST, FULL_LEAST = 5, 8  # that a property draws at least, if it states as many
ROOT = Path(__file__).resolve().parents[1]
FAILING_EXAMPLES = Path(os.environ.get("HYPOTHESIS_STORAGE_DIRECTORY", ROOT / ".hypothesis")) / EXPLORE_PROFILE
"""Examples that failed; the next exploration begins with them."""

_constants_of_modules = providers._get_local_constants


def use_fixed_examples() -> None:
    """Let each property draw the same examples on every machine, whichever tests run beside it.

    Otherwise Hypothesis also draws the constants of our modules that happen to be loaded, which depend on the tests that
    ran before in the same process.
    """
    _load(FIXED_PROFILE, derandomize=True, database=None)
    providers._get_local_constants = lambda: providers._local_constants


def use_new_examples() -> None:
    """Let each property draw new examples at each run, and keep those that fail."""
    _load(EXPLORE_PROFILE, derandomize=False, database=DirectoryBasedExampleDatabase(FAILING_EXAMPLES))
    providers._get_local_constants = _constants_of_modules


def is_exploring() -> bool:
    """Whether each property draws new examples, at least as many as it states."""
    return settings.get_current_profile_name() == EXPLORE_PROFILE


def is_thorough() -> bool:
    """Whether tests look at more than a quick run does: in CI and in explorations."""
    return os.environ.get("TEST_SCOPE") == "full" or is_exploring()


def fewer_examples(function: Any) -> None:
    """Have a property draw a part of the examples that it states."""
    own: settings = getattr(function, ATTRIBUTE)
    divisor, least = (FULL_DIVISOR, FULL_LEAST) if is_thorough() else (QUICK_DIVISOR, QUICK_LEAST)
    few = max(min(least, own.max_examples), own.max_examples // divisor)
    setattr(function, ATTRIBUTE, settings(own, max_examples=few))


def property_function(item: pytest.Item) -> Any:
    """The function of a property test, which all cases of a parametrized test share; None for another test."""
    found = getattr(item, "obj", None)
    function = getattr(found, "__func__", found)
    return function if is_hypothesis_test(function) else None


def more_examples(function: Any, times: int) -> None:
    """Have a property draw so many times as many examples as it asks for, whatever it asks for."""
    own: settings = getattr(function, ATTRIBUTE)
    # Even where it wants the same examples each time, as schemathesis is told to.
    more = settings(
        own,
        max_examples=own.max_examples * times,
        derandomize=False,
        database=settings.get_profile(EXPLORE_PROFILE).database,
    )
    setattr(function, ATTRIBUTE, more)


ATTRIBUTE = "_hypothesis_internal_use_settings"
"""Where Hypothesis keeps what @settings says; saying it twice of one test is an error there."""


def _load(name: str, **own: Any) -> None:
    slow = [HealthCheck.too_slow]  # of a busy machine
    settings.register_profile(name, settings(deadline=None, print_blob=True, suppress_health_check=slow, **own))
    settings.load_profile(name)
