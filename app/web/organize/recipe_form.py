"""The form of a recipe: one numbered row of fields for each metric, and the rules of the whole recipe."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.scoring.declaration.decision_rules import DECISION_RULES
from app.scoring.declaration.metric import CATALOGUE, Metric
from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.declaration.options import OPTIONS, Option
from app.scoring.declaration.recipe import parse_recipe
from app.scoring.declaration.task import TaskKind
from app.web.forms import FieldFault, Form, whole_number

MAX_ROWS = 60
MAX_NUMBER = 1e15
NO_LIMIT_OF_DIGITS = "full"


@dataclass
class MetricRow:
    """The fields of one metric. `params` and `options` have what is set for this metric alone."""

    key: str
    name: str = ""
    params: dict[str, str] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)
    tie: str = ""
    """Its place among the tie-breakers, as text; empty if it is none."""
    faults: list[FieldFault] = field(default_factory=list)

    @property
    def metric(self) -> Metric | None:
        """The metric of the catalogue, unless the key is unknown."""
        return CATALOGUE.get(self.key)

    @property
    def choices(self) -> list[Option]:
        """The options that the metric has, which select a convention."""
        return [] if self.metric is None else [OPTIONS[name] for name in self.metric.options]

    def request(self) -> dict[str, Any]:
        """The metric as a recipe names it."""
        params = {name: _number_or_text(text) for name, text in self.params.items()}
        given = {"key": self.key, "params": params, "options": self.options, "name": self.name}
        return {name: value for name, value in given.items() if value}


@dataclass
class RecipeForm:
    """A recipe as its form has it."""

    rows: list[MetricRow]
    primary: int = 0
    options: dict[str, str] = field(default_factory=dict)
    selection: str = "best"
    selection_max: str = ""
    digits: str = "6"
    ladder: str = ""
    """The step of the Ladder; empty without one."""
    decision: str = ""
    decision_fields: dict[str, str] = field(default_factory=dict)

    @property
    def ties(self) -> list[int]:
        """The places of the metrics that break ties, in the order in which they do."""
        places = [place for place, row in enumerate(self.rows) if row.tie]
        return sorted(places, key=lambda place: self.rows[place].tie.zfill(9))

    def body(self) -> dict[str, Any]:
        """The fields of the request."""
        decision: dict[str, Any] = {"rule": self.decision}
        decision |= {name: _decision_value(text) for name, text in self.decision_fields.items()}
        return {
            "primary": self.rows[self.primary].request() if self.rows else "",
            "metrics": [row.request() for row in self.rows],
            "tie_breakers": [self.rows[place].request() for place in self.ties],
            "options": self.options,
            "selection": self.selection,
            "selection_max": whole_number(self.selection_max or None),
            "decision": decision if self.decision else None,
            "disclosure": {"digits": whole_number(self.digits)},
            "ladder": {"step": _step(self.ladder)} if self.ladder else None,
        }

    def place_faults(self, form: Form) -> Form:
        """Move the faults of a request beside the metrics and fields of this form."""
        places = {"metrics": [*range(len(self.rows))], "tie_breakers": self.ties}
        faults: list[FieldFault] = []
        for fault in form.faults:
            part, _, number = fault.name.partition(".")
            listed = places.get(part, [])
            place = self.primary if part == "primary" and self.rows else None
            if number.isdigit() and int(number) < len(listed):
                place = listed[int(number)]
            if place is None:
                name = f"option_{number}" if part == "options" else {"disclosure": "digits"}.get(part, part)
                faults.append(FieldFault(name, fault.detail, fault.remedy))
            elif fault.detail not in [known.detail for known in self.rows[place].faults]:
                placed = FieldFault(f"metric_{place + 1}", fault.detail, fault.remedy)
                self.rows[place].faults.append(placed)
                faults.append(placed)
        return Form(form.fields, faults)


def _step(text: str) -> Any:
    """The step of a Ladder as a number; any other text stays, to be refused with the rest of the recipe."""
    try:
        return text if text == "auto" else float(text)
    except ValueError:
        return text


def _decision_value(text: str) -> Any:
    return text == "true" if text in {"true", "false"} else _number_or_text(text)


def _number_or_text(text: str) -> Any:
    """The number that JSON would write as this text; any other text stays."""
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        if repr(number) == text and abs(number) <= MAX_NUMBER:
            return number
    return text


def read_recipe_form(form: Form) -> RecipeForm:
    """The recipe in the fields of a form, without the rows that were taken out, and with the metrics that were added."""
    rows: list[MetricRow] = []
    primary = 0
    removed = form.value("do").removeprefix("remove-")
    for number in range(1, MAX_ROWS + 1):
        key = form.text(f"m{number}.key")
        if key is None or str(number) == removed:
            continue
        if form.value("primary") == str(number):
            primary = len(rows)
        row = MetricRow(key, form.text(f"m{number}.name") or "", tie=form.text(f"m{number}.tie") or "")
        row.params = _fields_below(form, f"m{number}.params.")
        row.options = _fields_below(form, f"m{number}.options.")
        rows.append(row)
    unset = {row.key for row in rows if not (row.params or row.options)}
    rows += [MetricRow(key) for key in _added_keys(form) if key not in unset]
    if rows:
        rows[primary].tie = ""
    return RecipeForm(
        rows[:MAX_ROWS],
        primary,
        options=_fields_below(form, "option_"),
        selection=form.value("selection", "best"),
        selection_max=form.value("selection_max").strip(),
        digits=form.value("digits", "6").strip(),
        ladder=form.value("ladder").strip(),
        decision=form.value("decision"),
        decision_fields={
            name: text
            for name, text in _fields_below(form, "decision.").items()
            if name in getattr(DECISION_RULES.get(form.value("decision")), "fields", {})
        },
    )


def _added_keys(form: Form) -> list[str]:
    if not form.value("do").startswith("add"):
        return []
    typed = form.text("add_other")
    return form.values("add") + ([typed.partition(" ")[0]] if typed else [])


def _fields_below(form: Form, prefix: str) -> dict[str, str]:
    """The fields whose names begin with a prefix and that are not empty, by the rest of their names."""
    return {name.removeprefix(prefix): form.value(name).strip() for name in form.fields
            if name.startswith(prefix) and form.value(name).strip()}  # fmt: skip


def stored_recipe_form(
    body: Mapping[str, Any], task: TaskKind, positive_label: str | None, classes: Sequence[str] | None
) -> RecipeForm:
    """The form of a stored recipe."""
    recipe = parse_recipe(body, task, positive_label=positive_label, classes=classes, stored=True)
    rows = []
    for call in recipe.metrics:
        shared = parse_metric(call.metric.key, options=recipe.options) if not _needs_params(call.metric) else None
        row = MetricRow(call.metric.key, call.title or "")
        defaults = {} if shared is None else shared.params
        row.params = {name: value for name, value in call.params.items() if defaults.get(name) != value}
        conventions = {name: recipe.options.get(name, OPTIONS[name].default) for name in call.metric.options}
        if shared is not None:
            conventions = dict(shared.options)
        row.options = {
            name: call.options[name] for name in call.metric.options if call.options[name] != conventions[name]
        }
        row.tie = str(recipe.tie_breakers.index(call.text) + 1) if call.text in recipe.tie_breakers else ""
        rows.append(row)
    primary = next(place for place, call in enumerate(recipe.metrics) if call.text == recipe.primary)
    decision = dict(recipe.decision or {})
    return RecipeForm(
        rows,
        primary,
        options=dict(recipe.options),
        selection=recipe.selection,
        selection_max=str(recipe.selection_max or ""),
        digits=NO_LIMIT_OF_DIGITS if recipe.digits is None else str(recipe.digits),
        ladder="" if recipe.ladder is None else recipe.ladder.text,
        decision=str(decision.pop("rule", "")),
        decision_fields={name: str(value).lower() for name, value in decision.items()},
    )


def _needs_params(metric: Metric) -> bool:
    return any(param.default is None for param in metric.params)
