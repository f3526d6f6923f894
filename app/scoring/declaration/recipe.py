"""Scoring recipes: parsed from JSON, checked against the catalogue, in canonical form."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from app.errors import InvalidMetric, InvalidRecipe
from app.scoring.declaration.decision_rules import DECISION_RULES
from app.scoring.declaration.ladder_rule import LadderRule, parse_ladder
from app.scoring.declaration.metric import MetricCall
from app.scoring.declaration.metric_parser import check_label_parameters, parse_metric, parse_shared_options
from app.scoring.declaration.metric_syntax import pluralize
from app.scoring.declaration.options import excluded_labels
from app.scoring.declaration.task import TaskKind
from app.scoring.reports.per_class_report import REPORTED_METRICS
from app.text.close_matches import did_you_mean
from app.text.json_pointer import json_pointer

Selection = Literal["best", "latest", "selected"]
SELECTIONS: tuple[Selection, ...] = ("best", "latest", "selected")
DEFAULT_DIGITS = 6
_RECIPE_FIELDS = (
    "primary",
    "metrics",
    "tie_breakers",
    "options",
    "selection",
    "selection_max",
    "decision",
    "disclosure",
    "ladder",
)


@dataclass(frozen=True, slots=True)
class ScoringRecipe:
    """The metrics of a challenge and the rules for computing, ranking and showing them.

    `metrics` are all metrics to compute: the `listed` ones, preceded by the primary and followed by the tie-breakers
    where these are not listed. `primary` and `tie_breakers` are canonical strings. `digits` is the number of
    significant digits that participants see, None for full precision. `selection_max` is how many submissions a team may
    select, None without limit. `ladder` limits what participants learn while a phase is open; None for plain scores.
    """

    primary: str
    metrics: tuple[MetricCall, ...]
    tie_breakers: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    selection: Selection = "best"
    selection_max: int | None = None
    decision: Mapping[str, Any] | None = None
    digits: int | None = DEFAULT_DIGITS
    listed: tuple[MetricCall, ...] = ()
    ladder: LadderRule | None = None

    def call(self, text: str) -> MetricCall | None:
        """The computed metric with this canonical string, or None."""
        return next((call for call in self.metrics if call.text == text), None)


class _FaultCollector(list[dict[str, str]]):
    """The faults of a recipe with their JSON pointers."""

    def add(self, pointer: str, detail: str) -> None:
        self.append({"pointer": pointer, "detail": detail})


def parse_recipe(
    body: Mapping[str, Any],
    spec_task: TaskKind,
    *,
    positive_label: str | None = None,
    classes: Sequence[str] | None = None,
    stored: bool = False,
) -> ScoringRecipe:
    """The recipe in a JSON object; raises InvalidRecipe with all faults, each with its JSON pointer.

    A `stored` recipe was accepted before, so it may call one metric by two names.
    """
    faults = _FaultCollector()
    body = {name: value for name, value in body.items() if value is not None}
    _check_fields(body, spec_task, positive_label, faults)
    known = None if classes is None else frozenset(classes)
    options = _parse_options(body.get("options", {}), known, faults)
    parser = _MetricListParser(options, spec_task, known, positive_label, stored, faults)
    primary = parser.parse_one(body["primary"], "/primary") if "primary" in body else None
    listed = parser.parse_list(body.get("metrics", []), "/metrics")
    tie_breakers = parser.parse_list(body.get("tie_breakers", []), "/tie_breakers")
    if primary is not None and primary.text in {call.text for call in tie_breakers}:
        faults.add("/tie_breakers", f"'{primary.text}' is the primary metric; it cannot break its own ties.")
    selection = body.get("selection", "best")
    if selection not in SELECTIONS:
        faults.add("/selection", f"Must be one of {', '.join(SELECTIONS)}.")
    selection_max = _parse_selection_max(body.get("selection_max"), selection, faults)
    decision = _parse_decision(body.get("decision"), spec_task, faults)
    digits = _parse_digits(body.get("disclosure", {}), faults)
    ladder = parse_ladder(body.get("ladder"), selection, primary, faults.add)
    if faults or primary is None:
        raise InvalidRecipe(f"The recipe has {pluralize(len(faults), 'fault')}.", errors=list(faults))
    return ScoringRecipe(
        primary=primary.text,
        metrics=_merge_metrics(primary, listed, tie_breakers),
        tie_breakers=tuple(call.text for call in tie_breakers),
        options=options,
        selection=selection,
        selection_max=selection_max,
        decision=decision,
        digits=digits,
        listed=tuple(listed),
        ladder=ladder,
    )


def disclosed_digits(stored: Mapping[str, Any]) -> int | None:
    """The digits that participants see under a stored recipe, None for all; reads nothing else of the recipe."""
    return _parse_digits(stored.get("disclosure") or {}, _FaultCollector())


def _check_fields(body: Mapping[str, Any], task: TaskKind, positive_label: str | None, faults: _FaultCollector) -> None:
    for name in body:
        if name not in _RECIPE_FIELDS:
            faults.add(json_pointer(name), f"A recipe has no field '{name}'{did_you_mean(str(name), _RECIPE_FIELDS)}.")
    if "primary" not in body:
        faults.add("/primary", "The recipe needs a primary metric, for example 'f1_macro'.")
    if task == "binary" and positive_label is None:
        faults.add("", "A binary task needs its positive_label.")


def _parse_options(body: Any, classes: Collection[str] | None, faults: _FaultCollector) -> dict[str, str]:
    """The options for all metrics in canonical form, without the defaults of those that are not set."""
    options: dict[str, str] = {}
    if not isinstance(body, Mapping):
        faults.add("/options", "Must be an object of option names and values.")
        return options
    for name, value in body.items():
        try:
            options |= parse_shared_options({name: value})
            check_label_parameters({}, {name: options[name]}, classes)
        except InvalidMetric as problem:
            faults.add(json_pointer("options", name), problem.detail)
    return options


def _unrankable_reason(call: MetricCall) -> str:
    """Why a metric cannot rank submissions, and where to get it instead."""
    if call.metric.scalar:
        return "has no better direction: neither a higher nor a lower value is better, so it cannot rank submissions"
    reported = call.metric.key in REPORTED_METRICS
    where = "the report of a submission gives it" if reported else "'assay score --metric' computes it"
    return f"cannot rank submissions, because it is not a single number; {where}"


@dataclass(frozen=True, slots=True)
class _MetricListParser:
    """Parses the metrics of one recipe with its options, task and classes; adds faults instead of raising them."""

    options: Mapping[str, str]
    task: TaskKind
    classes: Collection[str] | None
    positive_label: str | None
    stored: bool
    faults: _FaultCollector
    names: dict[str, str] = field(default_factory=dict)  # the first string by which each metric was requested

    def parse_one(self, request: Any, pointer: str) -> MetricCall | None:
        """One metric, or None after adding a fault."""
        if not isinstance(request, (str, Mapping)):
            self.faults.add(pointer, "A metric is a string or an object with 'key'.")
            return None
        try:
            call = parse_metric(request, options=self.options, task=self.task, classes=self.classes)
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

    def parse_list(self, requests: Any, pointer: str) -> list[MetricCall]:
        """A list of distinct metrics."""
        if not isinstance(requests, Sequence) or isinstance(requests, str):
            self.faults.add(pointer, "Must be a list of metrics.")
            return []
        calls: dict[str, MetricCall] = {}
        for position, item in enumerate(requests):
            call = self.parse_one(item, f"{pointer}/{position}")
            if call is not None and call.text in calls:
                self.faults.add(f"{pointer}/{position}", f"'{call.text}' is already listed.")
            elif call is not None:
                calls[call.text] = call
        return list(calls.values())


def _identity_key(call: MetricCall, positive_label: str | None, classes: Collection[str] | None) -> str:
    """A key that is equal for different strings of the same metric.

    f1, f0_5 and f2 are f_beta with that beta; in binary tasks, the positive label is the default label.
    """
    params = {name: value for name, value in call.params.items() if (name, value) != ("label", positive_label)}
    key = call.metric.key
    beta = params.get("beta", "") if key.startswith("f_beta") else ""  # the beta of other metrics means something else
    alias = {"1": "f1", "0.5": "f0_5", "2": "f2"}.get(beta)
    if alias is not None:
        key = key.replace("f_beta", alias, 1)
        del params["beta"]
    options = dict(call.options)
    if not excluded_labels(options["exclude_labels"], ["none"] if classes is None else classes):
        options["exclude_labels"] = ""
    return f"{key} {sorted(params.items())} {sorted(options.items())}"


def _merge_metrics(
    primary: MetricCall, listed: Iterable[MetricCall], tie_breakers: Iterable[MetricCall]
) -> tuple[MetricCall, ...]:
    calls = {call.text: call for call in listed}
    if primary.text not in calls:
        calls = {primary.text: primary, **calls}
    for call in tie_breakers:
        calls.setdefault(call.text, call)
    return tuple(calls.values())


def _parse_decision(body: Any, task: TaskKind, faults: _FaultCollector) -> Mapping[str, Any] | None:
    """How hard labels follow from scores: the name of a rule, or {"rule": …} with the fields of the rule."""
    decision = {"rule": body} if isinstance(body, str) else body
    if decision is None:
        return None
    if not isinstance(decision, Mapping) or decision.get("rule") not in DECISION_RULES:
        faults.add("/decision", f"Must name a rule: {', '.join(DECISION_RULES)}.")
        return None
    rule = DECISION_RULES[decision["rule"]]
    if task not in rule.tasks:
        faults.add("/decision", f"'{decision['rule']}' does not apply to {task} tasks.")
    for name, value in decision.items():
        if name != "rule" and not rule.accepts_field(name, value):
            faults.add(json_pointer("decision", name), f"'{decision['rule']}' does not allow this: {rule.meaning}.")
    return dict(decision)


def _parse_selection_max(value: Any, selection: Any, faults: _FaultCollector) -> int | None:
    """How many submissions a team may select; only with the rule that counts selected ones."""
    if value is None:
        return None
    if selection != "selected":
        faults.add("/selection_max", "Applies to 'selection': 'selected' only.")
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 10**6:
        return value
    faults.add("/selection_max", "Must be a whole number, at least 1.")
    return None


def _parse_digits(disclosure: Any, faults: _FaultCollector) -> int | None:
    if not isinstance(disclosure, Mapping):
        faults.add("/disclosure", 'Must be an object such as {"digits": 6}.')
        return DEFAULT_DIGITS
    for name in disclosure:
        if name != "digits":
            faults.add(json_pointer("disclosure", name), f"Disclosure has no field '{name}'; it has 'digits'.")
    digits = disclosure.get("digits", DEFAULT_DIGITS)
    if digits == "full":
        return None
    if isinstance(digits, int) and not isinstance(digits, bool) and 1 <= digits <= 17:
        return digits
    faults.add("/disclosure/digits", "Must be a whole number from 1 to 17, or 'full'.")
    return DEFAULT_DIGITS


__all__ = ["DEFAULT_DIGITS", "SELECTIONS", "MetricCall", "ScoringRecipe", "parse_recipe"]
