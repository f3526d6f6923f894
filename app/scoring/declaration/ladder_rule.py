"""The Ladder of a recipe (Blum and Hardt 2015): how far a submission has to improve before its team is told."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Any

from app.scoring.declaration.metric import MetricCall
from app.text.json_pointer import json_pointer

AUTO = "auto"
"""The step of the parameter-free variant."""
MIN_STEP, MAX_STEP = 1e-6, 1e6
AddFault = Callable[[str, str], None]
"""Takes the JSON pointer and the detail of a fault."""


@dataclass(frozen=True, slots=True)
class LadderRule:
    """The step by which a value has to be better than the best so far; None for the parameter-free variant."""

    step: Fraction | None

    @property
    def value(self) -> float | str:
        """The step as a recipe has it."""
        return AUTO if self.step is None else float(self.step)

    @property
    def text(self) -> str:
        """The step as text."""
        return f"{self.value:.12g}" if isinstance(self.value, float) else AUTO

    def body(self) -> dict[str, float | str]:
        """The field of a recipe."""
        return {"step": self.value}


def is_instance_mean(call: MetricCall) -> bool:
    """Whether every value of a metric is the mean of a number from 0 to 1 per instance, over all instances."""
    options = {call.options[name] for name in call.metric.options}
    leaves_out = "skip" in options or bool(call.options.get("exclude_labels"))
    return call.metric.instance_mean and not leaves_out


def parse_ladder(value: Any, selection: Any, primary: MetricCall | None, add_fault: AddFault) -> LadderRule | None:
    """The Ladder in the field of a recipe, or None after adding its faults; None without the field."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        add_fault("/ladder", 'Must be an object such as {"step": 0.01} or {"step": "auto"}.')
        return None
    for name in value:
        if name != "step":
            add_fault(json_pointer("ladder", name), f"A Ladder has no field '{name}'; it has 'step'.")
    if selection in {"latest", "selected"}:
        detail = (
            f"Needs 'selection': 'best': the Ladder shows the best so far, so '{selection}' would show another "
            "submission than the one that counts."
        )
        add_fault("/ladder", detail)
    rule = _parse_step(value.get("step"), add_fault)
    if rule is not None and primary is not None:
        _check_step(rule, primary, add_fault)
    return rule


def _parse_step(step: Any, add_fault: AddFault) -> LadderRule | None:
    if step == AUTO:
        return LadderRule(None)
    is_number = isinstance(step, (int, float)) and not isinstance(step, bool) and isfinite(step)
    if is_number and MIN_STEP <= step <= MAX_STEP:
        return LadderRule(Fraction(repr(step)))
    add_fault("/ladder/step", f"Must be a number from {MIN_STEP:f} to {MAX_STEP:.0f}, or 'auto'.")
    return None


def _check_step(rule: LadderRule, primary: MetricCall, add_fault: AddFault) -> None:
    low, high = primary.metric.range
    if rule.step is None and not is_instance_mean(primary):
        detail = (
            f"'auto' needs a primary metric that is a mean over instances of a number from 0 to 1, such as accuracy; "
            f"'{primary.text}' is none. Give a number as the step."
        )
        add_fault("/ladder/step", detail)
    if rule.step is not None and rule.step >= high - low:
        detail = (
            f"Must be less than {high - low:g}, the width of the range of '{primary.text}'; otherwise no submission "
            "after the first could ever change a score."
        )
        add_fault("/ladder/step", detail)
