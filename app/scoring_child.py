"""The program that reads and scores files for the service: asked on a pipe, with no database and no secrets.

One JSON object a line comes in on standard input, one goes out on standard output. The program ends at once when its
standard input closes, whatever it is doing, so that it never outlives the service.
"""

import argparse
import gc
import json
import os
import queue
import resource
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from app.errors import BadRequest, InvalidContent
from app.formats import FileKind, Limits, Problems, Rules
from app.formats.reader import too_much_memory
from app.formats.template import template
from app.pipeline import FileTooHeavy, Gold, Source, load_gold, predicted_case, score, validate
from app.scoring.align import Case
from app.scoring.detail import detailed, write_csv
from app.scoring.recipe import Recipe, parse_recipe

Answer = dict[str, Any]

KEPT_GOLDS = 4
_KIND = ("format", "encoding", "layout")


class Golds:
    """The golds used last, ready to score with: a submission pays only for itself."""

    def __init__(self, limits: Limits, memory: int) -> None:
        self.limits = limits
        self.memory = memory
        self._kept: OrderedDict[str, Gold] = OrderedDict()

    def load(self, request: dict[str, Any]) -> tuple[Gold | None, Problems]:
        """The gold of a request; None where it has problems."""
        problems = Problems()
        name = _name(request)
        if name in self._kept:
            self._kept.move_to_end(name)
            return self._kept[name], problems
        fields = {key: value for key, value in request.items() if key not in {"path", *_KIND}}
        gold, problems = load_gold(_source(request), limits=self.limits, **fields)
        if gold is not None:
            self._kept[name] = gold
            while len(self._kept) > KEPT_GOLDS:
                self._kept.popitem(last=False)
        return gold, problems

    def forget_all_but(self, request: dict[str, Any]) -> bool:
        """Give back the memory of other golds than that of this request; False where there were none."""
        own = self._kept.pop(_name(request), None)
        held = bool(self._kept)
        self._kept.clear()
        if own is not None:
            self._kept[_name(request)] = own
        gc.collect()
        return held

    def sound(self, request: dict[str, Any]) -> Gold:
        """The gold of a request that was checked when it was uploaded."""
        gold, problems = self.load(request)
        if gold is None:
            msg = f"stored gold no longer reads: {problems.to_dict()['total']}"
            raise RuntimeError(msg)
        return gold


def answer_gold(golds: Golds, request: dict[str, Any]) -> Answer:
    """Check gold and say what it holds."""
    try:
        gold, problems = golds.load(request["gold"])
    except InvalidContent as fault:
        problems, gold = Problems(), None
        return problems.to_dict() | {"valid": False, "detail": fault.detail, "remedy": fault.advice, **fault.extra}
    if gold is None:
        return problems.to_dict()
    return problems.to_dict() | {
        "instances": len(gold.ids),
        "classes": list(gold.spec.classes),
        "has_splits": gold.splits is not None,
        "notes": gold.notes,
    }


def answer_validate(golds: Golds, request: dict[str, Any]) -> Answer:
    """Check predictions without scoring them."""
    gold = golds.sound(request["gold"])
    recipe = _recipe(request, gold)
    rules = Rules.strictest(recipe.metrics, recipe.primary)
    _, problems, notes = validate(
        gold.index,
        gold.spec,
        _source(request["predictions"]),
        rules=rules,
        void=gold.void,
        tables=gold.tables,
        limits=golds.limits,
    )
    return problems.to_dict() | {"notes": notes}


def answer_score(golds: Golds, request: dict[str, Any]) -> Answer:
    """Check predictions and score them, per split."""
    gold = golds.sound(request["gold"])
    recipe = _recipe(request, gold)
    outcome = score(
        gold,
        _source(request["predictions"]),
        recipe.metrics,
        primary=recipe.primary,
        decision=recipe.decision,
        options=recipe.options,
        limits=golds.limits,
    )
    scores = {
        split: {
            name: {"value": result.value, "reason": result.reason, "notes": list(result.notes)}
            for name, result in results.items()
        }
        for split, results in outcome.scores.items()
    }
    return outcome.problems.to_dict() | {"notes": outcome.notes, "scores": scores}


def answer_template(golds: Golds, request: dict[str, Any]) -> Answer:
    """Write the file to fill in to the path given."""
    gold = golds.sound(request["gold"])
    try:
        body = template(gold.listed, gold.spec, request["format"], scores=request["scores"])
    except BadRequest as refused:
        return {"valid": False, "detail": refused.detail, "remedy": refused.advice}
    Path(request["target"]).write_bytes(body)
    return {"valid": True}


def answer_report(golds: Golds, request: dict[str, Any]) -> Answer:
    """Write the detailed report of a submission to the path given."""
    gold = golds.sound(request["gold"])
    recipe = _recipe(request, gold)
    case = _case(golds, gold, recipe, request)
    found = detailed(case, recipe.options, request["parts"], request["digits"])
    if request["csv"] and "left_out" in found:
        return {"valid": False, "detail": f"There is no such table: {found['left_out'][0]['reason']}."}
    with Path(request["target"]).open("w", encoding="utf-8", newline="") as target:
        if request["csv"]:
            write_csv(found, request["parts"][0], target)
        else:
            target.write(json.dumps(request["head"] | found, ensure_ascii=False, allow_nan=False))  # dump() is slow
    return {"valid": True}


def _case(golds: Golds, gold: Gold, recipe: Recipe, request: dict[str, Any]) -> Case:
    """The case of stored predictions, with their scores if these are in order: the recipe may not have looked at them."""
    rules = Rules.strictest(recipe.metrics, recipe.primary)
    for tried in (replace(rules, scores="used"), rules):
        with suppress(ValueError):
            return predicted_case(
                gold,
                _source(request["predictions"]),
                tried,
                split=request["split"],
                decision=recipe.decision,
                options=recipe.options,
                limits=golds.limits,
            )
    msg = "stored predictions no longer read"
    raise RuntimeError(msg)


ANSWERS: dict[str, Callable[[Golds, dict[str, Any]], Answer]] = {
    "gold": answer_gold,
    "validate": answer_validate,
    "score": answer_score,
    "template": answer_template,
    "report": answer_report,
}


def _name(request: dict[str, Any]) -> str:
    return json.dumps(request, sort_keys=True)


def _source(request: dict[str, Any]) -> Source:
    return Source(Path(request["path"]), FileKind(**{name: request[name] for name in _KIND}))


def _recipe(request: dict[str, Any], gold: Gold) -> Recipe:
    rules: dict[str, Any] = {"positive_label": gold.spec.positive_label, "classes": gold.spec.classes}
    return parse_recipe(request["recipe"], gold.spec.task, **rules, stored=True)


def _listen(lines: IO[bytes], requests: "queue.SimpleQueue[bytes]") -> None:
    """Pass requests on; when the pipe closes the service is gone, and so is the reason to go on."""
    for line in lines:
        requests.put(line)
    os._exit(0)


def main() -> None:
    """Answer requests until the pipe closes."""
    parser = argparse.ArgumentParser(description="Scores files for the service; not for use by hand.")
    parser.add_argument("--memory", type=int, required=True, help="bytes of data memory allowed")
    parser.add_argument("--limits", type=json.loads, required=True, help="JSON of how large a file may be")
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_DATA, (given.memory, given.memory))
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not mix with the answers
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, requests), daemon=True).start()
    _reply(replies, {"ready": True})
    golds = Golds(Limits(**given.limits), given.memory)
    while True:
        _reply(replies, _answer(golds, json.loads(requests.get())))


def _answer(golds: Golds, request: dict[str, Any]) -> Answer:
    try:
        return ANSWERS[request["kind"]](golds, request)
    except FileNotFoundError as lost:
        return {"error": "file", "file": str(lost.filename)}
    except MemoryError as lack:
        if not golds.forget_all_but(request["gold"]):
            return _too_heavy(golds) if isinstance(lack, FileTooHeavy) else {"error": "memory"}
    return _answer(golds, request)  # with the room that other golds took


def _too_heavy(golds: Golds) -> Answer:
    """A problem of the file; as memory ran out once, a fresh program had better go on."""
    problems = Problems()
    problems.add(too_much_memory(golds.memory))
    return problems.to_dict() | {"notes": [], "scores": {}, "spent": True}


def _reply(replies: IO[bytes], answer: Answer) -> None:
    replies.write(json.dumps(answer).encode() + b"\n")
    replies.flush()


if __name__ == "__main__":
    main()
