"""Recipes: what was agreed, checked against the catalogue, in canonical form."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from app.errors import InvalidMetric, InvalidRecipe
from app.scoring.declaration.decision_rules import DECISION_RULES
from app.scoring.declaration.metric import MetricCall
from app.scoring.declaration.metric_parser import check_label_parameters, parse_metric, parse_shared_options
from app.scoring.declaration.options import excluded_labels
from app.scoring.declaration.task import TaskKind
from app.scoring.reports.per_class_report import REPORTED_METRICS
from app.text.close_matches import did_you_mean

Selection = Literal["best", "latest", "selected"]
SELECTIONS: tuple[Selection, ...] = ("best", "latest", "selected")
DEFAULT_DIGITS = 6
_RECIPE_FIELDS = ("primary", "metrics", "tie_breakers", "options", "selection", "decision", "disclosure")


@dataclass(frozen=True, slots=True)
class ScoringRecipe:
    """The agreed metrics of a challenge.

    `metrics` are all that is computed: as `listed`, the primary first if it is not listed, then tie-breakers that are
    not listed. `primary` and `tie_breakers` are canonical strings. `digits` are the significant digits that
    participants see, None for full precision.
    """

    primary: str
    metrics: tuple[MetricCall, ...]
    tie_breakers: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    selection: Selection = "best"
    decision: Mapping[str, Any] | None = None
    digits: int | None = DEFAULT_DIGITS
    listed: tuple[MetricCall, ...] = ()

    def call(self, text: str) -> MetricCall | None:
        """The computed metric with this canonical string, if there is one."""
        return next((call for call in self.metrics if call.text == text), None)


class _FaultCollector:
    """The faults of a recipe, collected with their JSON pointers."""

    def __init__(self) -> None:
        self.found: list[dict[str, str]] = []

    def add(self, pointer: str, detail: str) -> None:
        self.found.append({"pointer": pointer, "detail": detail})


def parse_recipe(
    body: Mapping[str, Any],
    spec_task: TaskKind,
    *,
    positive_label: str | None = None,
    classes: Sequence[str] | None = None,
    stored: bool = False,
) -> ScoringRecipe:
    """The recipe that a JSON object means; raises InvalidRecipe with all faults, each with its JSON pointer.

    A `stored` one was accepted before: it is not refused for what only makes it clumsy.
    """
    faults = _FaultCollector()
    body = {name: value for name, value in body.items() if value is not None}
    _check_fields(body, spec_task, positive_label, faults)
    known = None if classes is None else frozenset(classes)
    options = _parse_options(body.get("options", {}), known, faults)
    reader = _MetricListParser(options, spec_task, known, positive_label, stored, faults)
    primary = reader.one(body["primary"], "/primary") if "primary" in body else None
    listed = reader.many(body.get("metrics", []), "/metrics")
    breakers = reader.many(body.get("tie_breakers", []), "/tie_breakers")
    if primary is not None and primary.text in {call.text for call in breakers}:
        faults.add("/tie_breakers", f"'{primary.text}' is the primary metric; it cannot break its own ties.")
    selection = body.get("selection", "best")
    if selection not in SELECTIONS:
        faults.add("/selection", f"Must be one of {', '.join(SELECTIONS)}.")
    decision = _parse_decision(body.get("decision"), spec_task, faults)
    digits = _parse_digits(body.get("disclosure", {}), faults)
    if faults.found or primary is None:
        count = len(faults.found)
        raise InvalidRecipe(f"The recipe has {count} fault{'s' if count != 1 else ''}.", errors=faults.found)
    return ScoringRecipe(
        primary=primary.text,
        metrics=_merge_metrics(primary, listed, breakers),
        tie_breakers=tuple(call.text for call in breakers),
        options=options,
        selection=selection,
        decision=decision,
        digits=digits,
        listed=tuple(listed),
    )


def disclosed_digits(stored: Mapping[str, Any]) -> int | None:
    """The digits that participants see by a stored recipe, None for all; the rest of it is not read."""
    return _parse_digits(stored.get("disclosure") or {}, _FaultCollector())


def _check_fields(body: Mapping[str, Any], task: TaskKind, positive_label: str | None, faults: _FaultCollector) -> None:
    for name in body:
        if name not in _RECIPE_FIELDS:
            faults.add(
                f"/{_escape_pointer(name)}",
                f"A recipe has no field '{name}'{did_you_mean(str(name), _RECIPE_FIELDS)}.",
            )
    if "primary" not in body:
        faults.add("/primary", "The recipe needs a primary metric, for example 'f1_macro'.")
    if task == "binary" and positive_label is None:
        faults.add("", "A binary task needs its positive_label.")


def _parse_options(given: Any, classes: Collection[str] | None, faults: _FaultCollector) -> dict[str, str]:
    """The options that hold for all metrics: only those said, in canonical form."""
    options: dict[str, str] = {}
    if not isinstance(given, Mapping):
        faults.add("/options", "Must be an object of option names and values.")
        return options
    for name, value in given.items():
        try:
            options |= parse_shared_options({name: value})
            check_label_parameters({}, {name: options[name]}, classes)
        except InvalidMetric as problem:
            faults.add(f"/options/{_escape_pointer(name)}", problem.detail)
    return options


def _unrankable_reason(call: MetricCall) -> str:
    """Why a metric ranks nobody, and where it is to be had instead."""
    if call.metric.scalar:
        return "has no better direction: neither more nor less of it is better, so nobody can be ranked by it"
    where = (
        "the report of a submission gives it"
        if call.metric.key in REPORTED_METRICS
        else "'assay score --metric' computes it"
    )
    return f"is no single number that can be ranked; {where}"


@dataclass(frozen=True, slots=True)
class _MetricListParser:
    """Metrics of one recipe, read with its options, task and classes."""

    options: Mapping[str, str]
    task: TaskKind
    classes: Collection[str] | None
    positive_label: str | None
    stored: bool
    faults: _FaultCollector
    names: dict[str, str] = field(default_factory=dict)  # the name by which each metric was called first

    def one(self, asked: Any, pointer: str) -> MetricCall | None:
        """One metric, or None with a fault noted."""
        if not isinstance(asked, (str, Mapping)):
            self.faults.add(pointer, "A metric is a string or an object with 'key'.")
            return None
        try:
            call = parse_metric(asked, options=self.options, task=self.task, classes=self.classes)
        except InvalidMetric as problem:
            self.faults.add(pointer, problem.detail)
            return None
        if not call.metric.scalar or call.metric.direction == "none":
            self.faults.add(pointer, f"'{call.text}' {_unrankable_reason(call)}.")
            return None
        first = self.names.setdefault(_identity_key(call, self.positive_label, self.classes), call.text)
        if first != call.text and not self.stored:
            self.faults.add(pointer, f"'{call.text}' is the same metric as '{first}'; call it by one name.")
        return call

    def many(self, asked: Any, pointer: str) -> list[MetricCall]:
        """A list of metrics without repetition; faults are noted."""
        if not isinstance(asked, Sequence) or isinstance(asked, str):
            self.faults.add(pointer, "Must be a list of metrics.")
            return []
        calls: dict[str, MetricCall] = {}
        for position, item in enumerate(asked):
            call = self.one(item, f"{pointer}/{position}")
            if call is not None and call.text in calls:
                self.faults.add(f"{pointer}/{position}", f"'{call.text}' is listed already.")
            elif call is not None:
                calls[call.text] = call
        return list(calls.values())


def _identity_key(call: MetricCall, positive_label: str | None, classes: Collection[str] | None) -> str:
    """What names of one metric share: f1, f0_5, f2 are f_beta with that beta; in binary tasks no label is the positive."""
    params = {name: value for name, value in call.params.items() if (name, value) != ("label", positive_label)}
    key = call.metric.key
    beta = params.get("beta", "") if key.startswith("f_beta") else ""  # the β of others is another
    alias = {"1": "f1", "0.5": "f0_5", "2": "f2"}.get(beta)
    if alias is not None:
        key = key.replace("f_beta", alias, 1)
        del params["beta"]
    options = dict(call.options)
    if not excluded_labels(options["exclude_labels"], ["none"] if classes is None else classes):
        options["exclude_labels"] = ""
    return f"{key} {sorted(params.items())} {sorted(options.items())}"


def _merge_metrics(
    primary: MetricCall, listed: Iterable[MetricCall], breakers: Iterable[MetricCall]
) -> tuple[MetricCall, ...]:
    calls = {call.text: call for call in listed}
    if primary.text not in calls:
        calls = {primary.text: primary, **calls}
    for call in breakers:
        calls.setdefault(call.text, call)
    return tuple(calls.values())


def _parse_decision(given: Any, task: TaskKind, faults: _FaultCollector) -> Mapping[str, Any] | None:
    """How hard labels follow from scores: the name of a rule, or {"rule": …} with what the rule takes."""
    found = {"rule": given} if isinstance(given, str) else given
    if found is None:
        return None
    if not isinstance(found, Mapping) or found.get("rule") not in DECISION_RULES:
        faults.add("/decision", f"Must name a rule: {', '.join(DECISION_RULES)}.")
        return None
    rule = DECISION_RULES[found["rule"]]
    if task not in rule.tasks:
        faults.add("/decision", f"'{found['rule']}' is not for {task} tasks.")
    for name, value in found.items():
        if name != "rule" and not rule.accepts_field(name, value):
            faults.add(f"/decision/{_escape_pointer(name)}", f"'{found['rule']}' does not take this: {rule.meaning}.")
    return dict(found)


def _parse_digits(disclosure: Any, faults: _FaultCollector) -> int | None:
    if not isinstance(disclosure, Mapping):
        faults.add("/disclosure", 'Must be an object such as {"digits": 6}.')
        return DEFAULT_DIGITS
    for name in disclosure:
        if name != "digits":
            faults.add(f"/disclosure/{_escape_pointer(name)}", f"Disclosure has no field '{name}'; it has 'digits'.")
    digits = disclosure.get("digits", DEFAULT_DIGITS)
    if digits == "full":
        return None
    if isinstance(digits, int) and not isinstance(digits, bool) and 1 <= digits <= 17:
        return digits
    faults.add("/disclosure/digits", "Must be a whole number from 1 to 17, or 'full'.")
    return DEFAULT_DIGITS


def _escape_pointer(name: Any) -> str:
    return str(name).replace("~", "~0").replace("/", "~1")


__all__ = ["DEFAULT_DIGITS", "SELECTIONS", "MetricCall", "ScoringRecipe", "parse_recipe"]
