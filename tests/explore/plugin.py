"""A plugin that turns a run of pytest into an exploration: property tests alone, each with many new examples."""

import random
import time
from pathlib import Path

import pytest

from tests import hypothesis_profiles


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("explore")
    group.addoption("--times", type=int, default=20, help="how many times as many examples as otherwise")
    group.addoption("--until", type=float, default=float("inf"), help="begin no test after this moment (Unix time)")
    group.addoption("--order", type=int, default=0, help="in which order files are taken")


def pytest_configure() -> None:
    hypothesis_profiles.use_new_examples()  # before any test is imported: what @settings does not say, it takes from the profile


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the property tests; file after file in a drawn order, so that a short run does not always see the same ones."""
    kept = [item for item in items if hypothesis_profiles.property_function(item) is not None]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
    functions = {
        id(function): function for function in map(hypothesis_profiles.property_function, kept)
    }  # the cases of one test share it
    for function in functions.values():
        hypothesis_profiles.more_examples(function, config.getoption("times"))
    files = sorted({item.path for item in kept})
    random.Random(config.getoption("order")).shuffle(files)
    place: dict[Path, int] = {path: at for at, path in enumerate(files)}
    items[:] = sorted(kept, key=lambda item: place[item.path])


def pytest_runtest_setup(item: pytest.Item) -> None:
    if time.time() > item.config.getoption("until"):
        pytest.skip("the time is up")
