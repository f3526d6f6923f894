"""Whose turn it is among the analyses of a worker: boards, or the intervals of single submissions."""


class AnalysisTurns:
    """After the analysis of a board, intervals go first for as long as it took.

    Boards take up to minutes and intervals milliseconds, so turns by count would delay the intervals of many
    submissions by one board each.
    """

    def __init__(self) -> None:
        self._seconds_of_intervals = 0.0

    def are_boards_first(self) -> bool:
        """Whether a board goes next, if both wait."""
        return self._seconds_of_intervals <= 0

    def record(self, seconds: float, *, board: bool) -> None:
        """Account for a computation, whether it ended well or not."""
        self._seconds_of_intervals = seconds if board else self._seconds_of_intervals - seconds
