"""Claims about a system: the number of instances, the class sizes, and printed figures of one class or of all."""

from dataclasses import dataclass

from app.analysis.convert.measures import ZeroDivisionRule
from app.analysis.convert.printed_figures import PrintedFigure


@dataclass(frozen=True, slots=True)
class FigureClaim:
    """A printed figure of the class at this position, or of the whole task (None)."""

    key: str
    figure: PrintedFigure
    row: int | None = None


@dataclass(frozen=True, slots=True)
class CountsProblem:
    """All claims about one system on one data set.

    `sizes` holds the number of the `n` instances in each class; None means two classes, of which the first (the positive
    one) has an unknown size. `exclusive`: each instance has one label and gets one prediction. `undefined`: the value of
    0/0.
    """

    n: int
    sizes: tuple[int, ...] | None
    claims: tuple[FigureClaim, ...]
    exclusive: bool = True
    undefined: ZeroDivisionRule = "worst"

    @property
    def has_two_classes(self) -> bool:
        """Whether there is one class and the rest, so that two counts determine all others."""
        return self.exclusive and (self.sizes is None or len(self.sizes) == 2)
