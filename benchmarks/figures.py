"""The results of a benchmark: ways of doing a piece of work side by side, and targets with the measured figures."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Row:
    """One way of doing a piece of work; `ratio` is its value over that of the first way."""

    work: str
    way: str
    value: float
    unit: str
    ratio: float | None = None


@dataclass(frozen=True)
class Target:
    """A target, and the measured figure."""

    what: str
    wanted: Literal["at least", "at most"]
    limit: float
    measured: float
    unit: str = "times"

    @property
    def met(self) -> bool:
        """Whether the measured figure is on the right side of the limit."""
        return self.measured >= self.limit if self.wanted == "at least" else self.measured <= self.limit


@dataclass
class Measured:
    """The figures of one piece of work."""

    rows: list[Row] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)

    def ways(self, work: str, values: Mapping[str, float], unit: str) -> None:
        """Add the ways of a piece of work by name; the others are compared with the first."""
        first = next(iter(values.values()))
        self.rows += [Row(work, way, rounded(value), unit, rounded(value / first)) for way, value in values.items()]

    def at_least(self, what: str, limit: float, measured: float, unit: str = "times") -> None:
        """Add a target that is a minimum."""
        self.targets.append(Target(what, "at least", limit, rounded(measured), unit))

    def at_most(self, what: str, limit: float, measured: float, unit: str = "times") -> None:
        """Add a target that is a maximum."""
        self.targets.append(Target(what, "at most", limit, rounded(measured), unit))


def rounded(value: float) -> float:
    """Round to three significant digits; further digits are noise."""
    return float(f"{value:.3g}")


def shown(value: float) -> str:
    """A figure in readable form."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"


Pieces = Mapping[str, Mapping[str, Any]]
"""Rows and targets by piece, as stored in JSON."""


def target_cells(pieces: Pieces) -> list[list[str]]:
    """The rows of a table of targets: piece, what, target, measured, met."""
    return [
        [
            piece,
            target["what"],
            f"{target['wanted']} {shown(target['limit'])} {target['unit']}",
            shown(target["measured"]),
            "met" if target["met"] else "not met",
        ]
        for piece, measured in pieces.items()
        for target in measured.get("targets", ())
    ]


def way_cells(pieces: Pieces) -> list[list[str]]:
    """The rows of a table of ways: piece, work, way, value, unit, ratio; a piece and a work are named once."""
    cells, before = [], ("", "")
    for piece, measured in pieces.items():
        for row in measured.get("rows", ()):
            named = ("" if piece == before[0] else piece, "" if (piece, row["work"]) == before else row["work"])
            ratio = "" if row["ratio"] is None else shown(row["ratio"])
            cells.append([*named, row["way"], shown(row["value"]), row["unit"], ratio])
            before = (piece, row["work"])
    return cells


TARGET_HEAD = ["piece", "target", "wanted", "measured", ""]
WAY_HEAD = ["piece", "work", "way", "value", "unit", "ratio"]
