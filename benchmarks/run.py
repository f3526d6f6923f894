"""Prints the benchmark tables: Assay and its peers, interleaved in one run, as medians and ratios; and targets.

Each piece runs in a process of its own. The ratios are more reliable than the milliseconds, because
machines differ and other work may share this one. Needs Linux. The exit status is 1 if a piece failed, but not if a
target is not met.
"""

import argparse
import datetime as dt
import json
import sys
import tempfile
import time
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.apart import Failed, apart
from benchmarks.figures import TARGET_HEAD, WAY_HEAD, Measured, Pieces, target_cells, way_cells
from benchmarks.machine import machine
from benchmarks.sizes import SIZES

PIECES = {
    "W1": "labels",
    "W2": "sets",
    "W3-metrics": "scores",
    "W3-files": "uploads",
    "W4": "resampling",
    "W5": "comparing",
    "W6-boards": "boards",
    "W6-readers": "board_readers",
    "W6-pages": "board_pages",
    "W6-queue": "queue_listing",
    "W6-rebuild": "board_rebuild",
    "W6-posts": "posts",
    "W6-waits": "waits",
    "W6-cost": "submission_cost",
    "W6-stored": "large_phase",
    "correction": "correction",
    "items": "item_analysis",
    "receipts": "receipt_cost",
    "log": "log_proofs",
    "W7": "growth",
    "prepared": "prepared_gold",
    "secrecy": "secrecy",
    "hostile": "hostile",
    "offline": "offline",
    "order": "order",
    "commands": "commands",
}
LONGEST = 900.0  # seconds that a piece may take, and for each size of W7


def measured(piece: str, size: str, folder: str) -> dict[str, Any]:
    """Rows and targets of a piece, as stored in JSON."""
    found: Measured = import_module(f"benchmarks.{PIECES[piece]}").measure(SIZES[size], Path(folder))
    targets = [asdict(target) | {"met": target.met} for target in found.targets]
    return {"rows": [asdict(row) for row in found.rows], "targets": targets}


def piece_of(piece: str, size: str) -> dict[str, Any]:
    """The same, measured in a process of its own; if that failed, the reason."""
    longest = LONGEST * len(SIZES[size].growing) if piece == "W7" else LONGEST
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="assay-bench-", ignore_cleanup_errors=True) as folder:
        try:
            found = apart(longest, measured, piece, size, folder)
        except Failed as failure:
            found = {"failed": str(failure)}
    day = dt.datetime.now(dt.UTC).date().isoformat()
    return {"measured_on": day, "machine": machine(), "seconds": round(time.perf_counter() - began, 1)} | found


def kept(path: Path, size: str, pieces: Pieces) -> Pieces:
    """The pieces to store: the new ones, and those of the file that were not measured again, in the order of PIECES.

    Raises ValueError if the file has figures of another size of the work.
    """
    if not path.exists():
        return pieces
    stored = json.loads(path.read_text(encoding="utf-8"))
    if stored["size"] != size:
        raise ValueError(f"{path} has figures of the size '{stored['size']}'; delete it, or give another file")
    known = stored["pieces"] | pieces
    return {piece: known[piece] for piece in PIECES if piece in known}


def chosen(given: str | None) -> list[str]:
    """The pieces of a comma-separated list, all if there is none; `W6` selects all whose names begin with it.

    Raises ValueError for an unknown name.
    """
    if not given:
        return list(PIECES)
    names = given.split(",")
    of_each = {name: [piece for piece in PIECES if piece == name or piece.startswith(f"{name}-")] for name in names}
    if absent := [name for name, found in of_each.items() if not found]:
        raise ValueError(f"there is no piece '{absent[0]}'; there are {', '.join(PIECES)}")
    return [piece for piece in PIECES if any(piece in found for found in of_each.values())]


def text_table(head: list[str], rows: list[list[str]]) -> str:
    """A table for the terminal, with aligned columns."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in [head, *rows]
    ]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def failures(pieces: Pieces) -> list[str]:
    """What failed, and why."""
    return [f"{piece} failed: {each['failed']}" for piece, each in pieces.items() if "failed" in each]


def report(pieces: Pieces) -> str:
    """Both tables, and the failures."""
    parts = [text_table(WAY_HEAD, way_cells(pieces)), text_table(TARGET_HEAD, target_cells(pieces))]
    parts += failures(pieces)
    return "\n\n".join(parts)


def main() -> None:
    """Measure the chosen pieces and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help=f"comma-separated pieces: {', '.join(PIECES)}; W3 and W6 select all of theirs")
    parser.add_argument("--size", choices=SIZES, default="full", help="tiny only checks that the program runs")
    parser.add_argument("--quick", action="store_const", dest="size", const="quick", help="the same as --size quick")
    parser.add_argument("--json", type=Path, help="also write the figures to this file; other pieces in it stay")
    given = parser.parse_args()
    try:
        wanted = chosen(given.only)
        if given.json:
            kept(given.json, given.size, {})  # before minutes of work
    except ValueError as fault:
        parser.error(str(fault))
    print("\n".join(f"{key}: {value}" for key, value in machine().items()), flush=True)
    pieces = {}
    for piece in wanted:
        pieces[piece] = piece_of(piece, given.size)
        print(f"{piece}: {pieces[piece]['seconds']} s", file=sys.stderr, flush=True)
    print(f"\nsize: {given.size}; CPU time where no other is named\n\n{report(pieces)}")
    if given.json:
        told = {"size": given.size, "pieces": kept(given.json, given.size, pieces)}
        given.json.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    raise SystemExit("\n\n".join(failures(pieces)) or 0)


if __name__ == "__main__":
    main()
