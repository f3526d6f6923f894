"""How property tests draw their examples: the same ones everywhere, or ever new ones in `make explore`."""

import os
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis.database import DirectoryBasedExampleDatabase
from hypothesis.internal.conjecture import providers

FIXED_PROFILE = "same"
EXPLORE_PROFILE = "explore"
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
