"""Draws new examples for all property tests, round after round, until something fails or the time is up."""

import argparse
import subprocess
import sys
import time

from tests.hypothesis_profiles import FAILING_EXAMPLES, ROOT

SUCCEEDED, FAILED = 0, 1


def main() -> int:
    """The program; 1 when a property failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.explore.run", description="Explore the property tests.")
    parser.add_argument("--seconds", type=int, default=600, help="how long to begin tests (600)")
    parser.add_argument("--times", type=int, default=20, help="how many times as many examples as 'make test' (20)")
    parser.add_argument("--seed", type=int, help="of all chances; without it each round draws others")
    parser.add_argument("--processes", type=int, default=2, help="how many at once (2)")
    parser.add_argument("only", nargs="*", help="files or tests; without any, all")
    asked = parser.parse_args()
    until = time.time() + asked.seconds
    rounds = 0
    while rounds == 0 or (time.time() < until and asked.seed is None):
        rounds += 1
        print(f"Round {rounds}: {asked.times} times as many examples", flush=True)
        status = subprocess.run(_command(asked, until, rounds), cwd=ROOT, check=False).returncode
        if status != SUCCEEDED:
            if status == FAILED:
                _tell(asked)
            return status
    print("No property failed. Skipped are those for which there was no time.")
    return SUCCEEDED


def _command(asked: argparse.Namespace, until: float, order: int) -> list[str]:
    seed = [] if asked.seed is None else [f"--hypothesis-seed={asked.seed}"]
    own = [f"--times={asked.times}", f"--until={until}", f"--order={asked.seed or int(until) + order}", *seed]
    spread = (
        ["-n", str(asked.processes), "--dist", "loadscope", "--no-loadscope-reorder"] if asked.processes > 1 else []
    )
    return [sys.executable, "-m", "pytest", "-q", "-p", "tests.explore.plugin", *own, *spread, *asked.only]


def _tell(asked: argparse.Namespace) -> None:
    print(
        "\nA property failed. What reproduces each find stands in its message: put the @reproduce_failure(…) line above the"
        f"\ntest and run it with pytest. The examples are also kept in {FAILING_EXAMPLES}; an exploration begins with"
        "\nthem: make explore ONLY=<the test>."
        + ("" if asked.seed is None else f" So does the seed: make explore SEED={asked.seed} TIMES={asked.times}.")
    )


if __name__ == "__main__":
    sys.exit(main())
