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
    parser.add_argument("--times", type=int, default=20, help="how many times as many examples as '.ci/run' (20)")
    parser.add_argument("--seed", type=int, help="of all chances; without it each round draws others")
    parser.add_argument("--processes", type=int, default=2, help="how many at once (2)")
    parser.add_argument("only", nargs="*", help="files or tests; without any, all")
    arguments = parser.parse_args()
    until = time.time() + arguments.seconds
    rounds = 0
    while rounds == 0 or (time.time() < until and arguments.seed is None):
        rounds += 1
        print(f"Round {rounds}: {arguments.times} times as many examples", flush=True)
        status = subprocess.run(_command(arguments, until, rounds), cwd=ROOT, check=False).returncode
        if status != SUCCEEDED:
            if status == FAILED:
                _print_advice(arguments)
            return status
    print("No property failed. Skipped are those for which there was no time.")
    return SUCCEEDED


def _command(arguments: argparse.Namespace, until: float, order: int) -> list[str]:
    seed = [] if arguments.seed is None else [f"--hypothesis-seed={arguments.seed}"]
    own = [f"--times={arguments.times}", f"--until={until}", f"--order={arguments.seed or int(until) + order}", *seed]
    spread = (
        ["-n", str(arguments.processes), "--dist", "loadscope", "--no-loadscope-reorder"]
        if arguments.processes > 1
        else []
    )
    return [sys.executable, "-m", "pytest", "-q", "-p", "tests.explore.plugin", *own, *spread, *arguments.only]


def _print_advice(arguments: argparse.Namespace) -> None:
    print(
        "\nA property failed. What reproduces each find stands in its message: put the @reproduce_failure(…) line above the"
        f"\ntest and run it with pytest. The examples are also kept in {FAILING_EXAMPLES}; an exploration begins with"
        "\nthem: make explore ONLY=<the test>."
        + (
            ""
            if arguments.seed is None
            else f" So does the seed: make explore SEED={arguments.seed} TIMES={arguments.times}."
        )
    )


if __name__ == "__main__":
    sys.exit(main())
