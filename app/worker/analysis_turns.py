"""Whose turn it is among the analyses of a worker: boards, or the intervals of single submissions; and which board."""

from collections.abc import Sequence


class AnalysisTurns:
    """After the analysis of a board, intervals go first for as long as it took.

    Boards take up to minutes and intervals milliseconds, so turns by count would delay the intervals of many
    submissions by one board each.

    Phases whose boards wait share the time by start-time fair queuing (Goyal, Vin and Cheng 1997): a
    comparison starts, in virtual time, where the one before it of its phase ended, or at the start of the one that was
    computed last; the earliest start goes next. So the board of a small test set does not wait for all metrics of a
    large one. For one thread at a time.
    """

    def __init__(self) -> None:
        self._seconds_of_intervals = 0.0
        self._virtual_time = 0.0
        self._starts: dict[str, float] = {}

    def are_boards_first(self) -> bool:
        """Whether a board goes next, if both wait."""
        return self._seconds_of_intervals <= 0

    def order_boards(self, phases: Sequence[str]) -> list[str]:
        """The phases whose boards wait, given by how long they have waited, in the order of their turns."""
        self._starts = {phase: max(self._starts.get(phase, 0.0), self._virtual_time) for phase in phases}
        return sorted(phases, key=self._starts.__getitem__)

    def record_intervals(self, seconds: float) -> None:
        """Account for a computation, whether it ended well or not."""
        self._seconds_of_intervals -= seconds

    def record_board(self, phase: str, seconds: float) -> None:
        """Account for a computation, whether it ended well or not."""
        self._seconds_of_intervals = seconds
        self._virtual_time = self._starts.get(phase, self._virtual_time)
        self._starts[phase] = self._virtual_time + seconds
