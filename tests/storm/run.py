"""Storm: `python -m tests.storm.run --database sqlite|postgresql --submissions N --runs N --seed N --out FILE`.

Each run is a service of its own, in a folder that is removed if nothing was found. The exit status is 1 when anything
was lost, doubled or wrong.
"""

import argparse
import json
import shutil
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.cluster import ServiceProcess
from tests.postgres import OwnPostgresServer
from tests.storm.deployments import LONG_LEASES, SHORT_LEASES, deploy_on_postgresql, deploy_on_sqlite
from tests.storm.fault_injection import LONG_SCHEDULE, SHORT_SCHEDULE
from tests.storm.storm import StormResult, report, run_storm

SMALL_STORM_SIZE = 300  # submissions up to which a storm is a short one
HEAD = ("database", "seed", "submissions", "requests", "actions", "interruptions", "crashes", "most attempts")
TAIL = ("lost", "doubled", "wrong", "seconds", "longest_recovery")


def run_one(name: str, seed: int, count: int, folder: Path) -> StormResult:
    """One storm on a database of this name."""
    leases, weather = (SHORT_LEASES, SHORT_SCHEDULE) if count <= SMALL_STORM_SIZE else (LONG_LEASES, LONG_SCHEDULE)
    with ExitStack() as things:
        if name == "postgresql":
            server = OwnPostgresServer()
            things.callback(server.close)
            site = things.enter_context(deploy_on_postgresql(folder, server, leases))
        else:
            site = things.enter_context(deploy_on_sqlite(folder, leases))
        return run_storm(site, seed, count, weather)


def format_row(line: dict[str, Any]) -> list[str]:
    """A run as a row of the table."""
    figures = {**line, "actions": sum(line["actions"].values()), "most attempts": max(line["attempts"], key=int)}
    return [str(figures[name]) for name in (*HEAD, *TAIL)]


def main() -> int:
    """The program; 1 when anything was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.storm.run", description="Storm a service, and judge it.")
    parser.add_argument("--database", choices=["sqlite", "postgresql"], action="append", help="this alone; else both")
    parser.add_argument("--submissions", type=int, default=2000, help="of each run (2000)")
    parser.add_argument("--runs", type=int, default=10, help="for each database (10)")
    parser.add_argument("--seed", type=int, default=1, help="of the first run; the next has the next (1)")
    parser.add_argument("--out", type=Path, help="a file to which each run adds a line of JSON")
    arguments = parser.parse_args()
    ServiceProcess.preloads_scoring = False  # a long storm starts the program of scoring processes itself
    lines = []
    for name in arguments.database or ["sqlite", "postgresql"]:
        for seed in range(arguments.seed, arguments.seed + arguments.runs):
            folder = Path(tempfile.mkdtemp(prefix=f"assay-storm-{name}-{seed}-"))
            outcome = run_one(name, seed, arguments.submissions, folder)
            lines.append(outcome.line)
            print(report(outcome), flush=True)
            if arguments.out:
                with arguments.out.open("a", encoding="utf-8") as output:
                    output.write(json.dumps(outcome.line) + "\n")
            if outcome.verdict.clean:
                shutil.rmtree(folder)
            else:
                print(f"kept: {folder}", flush=True)
    rows = [[*HEAD, *TAIL], *map(format_row, lines)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))
    return int(any(line[name] for line in lines for name in ("lost", "doubled", "wrong")))


if __name__ == "__main__":
    sys.exit(main())
