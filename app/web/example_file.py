"""An example of the file that a phase expects: with its ids if the reader may see them, else with invented ones."""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from app import errors
from app.actions.access import Caller
from app.actions.challenges.make_template import template_source
from app.actions.scoring_tasks.scoring_request import GoldReference
from app.api.dependencies import AppState
from app.api.phases import PhaseShape, template_name
from app.formats import FORMATS
from app.formats.format_declaration import Format

INVENTED_IDS = ("t1", "t2", "t3")
INVENTED_CLASSES = ("cat", "dog")
MAX_SCORE_COLUMNS = 12
_START_BYTES = 2000


@dataclass(frozen=True, slots=True)
class ExampleFile:
    """An example in two formats."""

    csv: str
    json_lines: str
    invented_ids: bool
    invented_classes: bool
    has_scores: bool
    has_template: bool
    """Whether the reader may read a file with all ids."""


def example_file(state: AppState, caller: Caller, slug: str, phase: PhaseShape, *, scores: bool) -> ExampleFile:
    """The example of a phase. `scores`: a metric needs them."""
    gold = _readable_gold(state, caller, slug, phase.slug)
    ids = [] if gold is None else _known_ids(state, gold)
    classes = phase.classes or list(INVENTED_CLASSES)
    shows_scores = scores and len(classes) <= MAX_SCORE_COLUMNS
    answers = make_answers(ids or INVENTED_IDS, classes, phase, scores=shows_scores)
    return ExampleFile(
        csv=_as_csv(answers),
        json_lines="".join(json.dumps(row, ensure_ascii=False) + "\n" for row in answers),
        invented_ids=not ids,
        invented_classes=phase.classes is None,
        has_scores=shows_scores,
        has_template=gold is not None,
    )


def _readable_gold(state: AppState, caller: Caller, slug: str, phase: str) -> GoldReference | None:
    """The gold whose ids the caller may read; None before there is gold, and before the phase opens."""
    try:
        with state.db.read() as session:
            return template_source(session, caller, slug, phase)[0]
    except errors.AssayError:
        return None


def _known_ids(state: AppState, gold: GoldReference) -> list[str]:
    """The first ids of the template, if somebody has requested it before."""
    for scores in (False, True):
        start = state.generated_files.read_start(template_name(gold, "csv", scores=scores), _START_BYTES)
        lines = [] if start is None else start.decode("utf-8", "replace").splitlines()[:-1]
        rows = csv.reader(lines[1:])
        if ids := [row[0] for row in islice(rows, len(INVENTED_IDS)) if row]:
            return ids
    return []


def make_answers(
    ids: Sequence[str], classes: Sequence[str], phase: PhaseShape, *, scores: bool
) -> list[dict[str, object]]:
    """One answer for each id, in the shape of records: a label, a set of labels, or scores."""
    return [{"id": name, **_answer(at, classes, phase, scores=scores)} for at, name in enumerate(ids)]


def _answer(at: int, classes: Sequence[str], phase: PhaseShape, *, scores: bool) -> dict[str, object]:
    likely = at % len(classes)
    if scores and phase.positive_label is not None:
        return {"score": (0.9, 0.2, 0.6)[at % 3]}
    if scores:
        rest = round(0.3 / max(1, len(classes) - 1), 3)
        best = round(1 - rest * (len(classes) - 1), 3)
        return {"scores": {name: best if place == likely else rest for place, name in enumerate(classes)}}
    if phase.task == "multilabel":
        return {"labels": list(classes[: (2, 1, 0)[at % 3]])}
    return {"label": classes[likely]}


def _as_csv(answers: Sequence[dict[str, object]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    first = answers[0]
    scores = first.get("scores")
    if isinstance(scores, dict):
        writer.writerow(["id", *scores])
        writer.writerows([row["id"], *row["scores"].values()] for row in answers)  # type: ignore[attr-defined]
        return out.getvalue()
    field = next(name for name in first if name != "id")
    writer.writerow(["id", "label" if field == "labels" else field])
    for row in answers:
        value = row[field]
        writer.writerow([row["id"], "|".join(value) if isinstance(value, list) else value])
    return out.getvalue()


def text_formats() -> list[Format]:
    """All formats that a file may have."""
    return list(FORMATS.values())
