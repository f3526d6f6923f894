"""What is claimed: a number of instances, the sizes of their classes, and printed figures of one class or of all."""

from dataclasses import dataclass

from app.analysis.convert.measures import ZeroDivisionRule
from app.analysis.convert.printed_figures import PrintedFigure


@dataclass(frozen=True, slots=True)
class FigureClaim:
    """A printed figure: of the class with this number, or of the whole task (None)."""

    key: str
    figure: PrintedFigure
    row: int | None = None


@dataclass(frozen=True, slots=True)
class CountsProblem:
    """All that is claimed of one system on one data set.

    `sizes` says how many of the `n` instances are in each class; None: two classes, the first of which (the positive
    one) has an unknown size. `exclusive`: each instance has one label and gets one prediction. `undefined`: what 0/0
    counts as.
    """

    n: int
    sizes: tuple[int, ...] | None
    claims: tuple[FigureClaim, ...]
    exclusive: bool = True
    undefined: ZeroDivisionRule = "worst"

    @property
    def has_two_classes(self) -> bool:
        """Whether two counts say all: there is one class and the rest."""
        return self.exclusive and (self.sizes is None or len(self.sizes) == 2)
