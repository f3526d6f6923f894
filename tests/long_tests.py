"""Tests that need more than two seconds of a worker, by node id without parameters, each with the reason why it is worth
them. `tests/conftest.py` reports all others that need as much."""

LIMIT_SECONDS = 2.0
LONG_TESTS: dict[str, str] = {
    "tests/repository/test_check.py::test_every_check_finds_the_fault_that_is_planted_for_it": (
        "It plants a fault for each of the checks of make lint, many of which read the document of all routes."
    ),
    "tests/test_benchmarks.py::test_every_piece_gives_ways_beside_each_other_and_targets": (
        "It runs every benchmark once, with services, at the smallest size."
    ),
}
