"""The program that reads and scores files for the service: asked on a pipe, with no database and no secrets.

One JSON object a line comes in on standard input, one goes out on standard output. The program ends at once when its
standard input closes, whatever it is doing, so that it never outlives the service.
"""

import argparse
import json
import os
import queue
import resource
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, Any

from app.errors import BadRequest, InvalidContent
from app.formats import Limits, Problems, Rules
from app.formats.problems import Problem
from app.formats.reader import too_much_memory, too_much_time
from app.formats.size_limits import Needs
from app.formats.template import template
from app.pipeline import FileTooHeavy, Gold, predicted_case, score, validate
from app.prepared.gold_cache import Golds, Unprepared, source
from app.prepared.gold_folder import PreparedGold
from app.scoring.declaration.recipe import Recipe
from app.scoring.evaluation_input import Case
from app.scoring.reports.detailed_report import NEEDS_PROBABILITIES, detailed, write_csv
from app.worker.cpu_limit import CpuTimer

Answer = dict[str, Any]


class CpuLimit(CpuTimer):
    """The CPU time of each stage of a request; the service learns beforehand what to answer if it is exceeded."""

    def __init__(self, seconds: float, say: Callable[[Answer], None]) -> None:
        super().__init__(seconds)
        self._say = say

    def reading(self) -> None:
        """From now on the time is the file's: what a request takes before one is read is no fault of the file."""
        self._say({"beyond_cpu": _refused(too_much_time(self.seconds))})
        self.begin()

    def scoring(self) -> None:
        """The file has been read; what scoring it takes is no fault of its writing, but is the same at each try."""
        self._say({"beyond_cpu": {"error": "cpu"}})
        self.begin()


def answer_gold(golds: Golds, request: dict[str, Any], cpu: CpuLimit) -> Answer:
    """Check gold and say what it holds."""
    cpu.reading()
    try:
        gold, problems = golds.load(request["gold"])
    except InvalidContent as fault:
        problems, gold = Problems(), None
        return problems.to_dict() | {"valid": False, "detail": fault.detail, "remedy": fault.advice, **fault.extra}
    if gold is None:
        return problems.to_dict()
    return problems.to_dict() | {
        "instances": len(gold.index),
        "classes": list(gold.spec.classes),
        "has_splits": gold.splits is not None,
        "public_instances": None if gold.splits is None else int((gold.splits == 0).sum()),
        "weighted": gold.weights is not None,
        "void_instances": len(gold.void),
        "longest_id": Needs.of(gold.ids, (), void=gold.void).longest,
        "notes": gold.notes,
    }


def answer_validate(golds: Golds, request: dict[str, Any], cpu: CpuLimit) -> Answer:
    """Check predictions without scoring them."""
    gold = golds.sound(request["gold"])
    recipe = golds.recipe(request, gold)
    rules = Rules.strictest(recipe.metrics, recipe.primary)
    cpu.reading()
    _, problems, notes = validate(
        gold.index,
        gold.spec,
        source(request["predictions"]),
        rules=rules,
        void=gold.void,
        tables=gold.tables,
        limits=golds.limits,
    )
    return problems.to_dict() | {"notes": notes}


def answer_score(golds: Golds, request: dict[str, Any], cpu: CpuLimit) -> Answer:
    """Check predictions and score them, per split."""
    gold = golds.sound(request["gold"])
    recipe = golds.recipe(request, gold)
    cpu.reading()
    outcome = score(
        gold,
        source(request["predictions"]),
        recipe.metrics,
        primary=recipe.primary,
        decision=recipe.decision,
        options=recipe.options,
        limits=golds.limits,
        checked=cpu.scoring,
    )
    scores = {
        split: {
            name: {"value": result.value, "reason": result.reason, "notes": list(result.notes)}
            for name, result in results.items()
        }
        for split, results in outcome.scores.items()
    }
    return outcome.problems.to_dict() | {"notes": outcome.notes, "scores": scores}


def answer_template(golds: Golds, request: dict[str, Any], _cpu: CpuLimit) -> Answer:
    """Write the file to fill in to the path given."""
    gold = golds.sound(request["gold"])
    try:
        body = template(gold.listed, gold.spec, request["format"], scores=request["scores"])
    except BadRequest as refused:
        return {"valid": False, "detail": refused.detail, "remedy": refused.advice}
    Path(request["target"]).write_bytes(body)
    return {"valid": True}


def answer_report(golds: Golds, request: dict[str, Any], _cpu: CpuLimit) -> Answer:
    """Write the detailed report of a submission to the path given."""
    gold = golds.sound(request["gold"])
    recipe = golds.recipe(request, gold)
    case = _case(golds, gold, recipe, request)
    found = detailed(case, recipe.options, request["parts"], request["digits"], size=request["size"])
    if request["csv"] and "left_out" in found:
        (part,) = found["left_out"]
        detail = f"There is no such table: {part['reason']}."
        return {"valid": False, "detail": detail, "other_scores": part["part"] == NEEDS_PROBABILITIES}
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
                source(request["predictions"]),
                tried,
                split=request["split"],
                decision=recipe.decision,
                options=recipe.options,
                limits=golds.limits,
            )
    msg = "stored predictions no longer read"
    raise RuntimeError(msg)


ANSWERS: dict[str, Callable[[Golds, dict[str, Any], CpuLimit], Answer]] = {
    "gold": answer_gold,
    "validate": answer_validate,
    "score": answer_score,
    "template": answer_template,
    "report": answer_report,
}


def _listen(lines: IO[bytes], requests: "queue.SimpleQueue[bytes]") -> None:
    """Pass requests on; when the pipe closes the service is gone, and so is the reason to go on."""
    for line in lines:
        requests.put(line)
    os._exit(0)


def main() -> None:
    """Answer requests until the pipe closes."""
    parser = argparse.ArgumentParser(description="Scores files for the service; not for use by hand.")
    parser.add_argument("--memory", type=int, required=True, help="bytes of data memory allowed")
    parser.add_argument("--cpu", type=float, required=True, help="seconds of CPU time that one file may take")
    parser.add_argument("--limits", type=json.loads, required=True, help="JSON of how large a file may be")
    parser.add_argument("--prepared", type=json.loads, help="JSON of where prepared gold is, and how much of it")
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_DATA, (given.memory, given.memory))
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not mix with the answers
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, requests), daemon=True).start()
    _reply(replies, {"ready": True})
    remarks: list[str] = []
    cpu = CpuLimit(given.cpu, partial(_reply, replies))
    limits = Limits(**given.limits, cpu_share=cpu.share)
    golds = Golds(limits, given.memory, _prepared(given.prepared, remarks.append))
    while True:
        request = json.loads(requests.get())
        cpu.begin()
        try:
            answer = _answer(golds, request, cpu)
        except OSError:
            raise  # a fault of the disk is not brought about by what is read
        except Exception as fault:  # noqa: BLE001 - whatever it is, it would come again
            traceback.print_exc()
            answer = {"error": f"it met {type(fault).__name__}"}
        cpu.end()
        _reply(replies, answer | {"remarks": remarks} if remarks else answer)
        remarks.clear()


def _prepared(told: dict[str, Any] | None, say: Callable[[str], None]) -> PreparedGold | None:
    if told is None:
        return None
    prepared = PreparedGold(Path(told["folder"]), told["limit"], told["free"], say)
    prepared.tidy()
    return prepared


def _answer(golds: Golds, request: dict[str, Any], cpu: CpuLimit) -> Answer:
    try:
        return ANSWERS[request["kind"]](golds, request, cpu)
    except Unprepared:
        return {"unprepared": True}
    except FileNotFoundError as lost:
        return {"error": "file", "file": str(lost.filename)}
    except MemoryError as lack:
        if not golds.forget_all_but(request["gold"]):
            if not isinstance(lack, FileTooHeavy) and request["kind"] != "gold":
                return {"error": "memory"}
            # As memory ran out once, a fresh program had better go on.
            return _refused(too_much_memory(golds.memory)) | {"spent": True}
    return _answer(golds, request, cpu)  # with the room that other golds took


def _refused(found: Problem) -> Answer:
    """A limit was met while a file was read: a problem of the file."""
    problems = Problems()
    problems.stop(found)
    return problems.to_dict() | {"notes": [], "scores": {}}


def _reply(replies: IO[bytes], answer: Answer) -> None:
    replies.write(json.dumps(answer).encode() + b"\n")
    replies.flush()


if __name__ == "__main__":
    main()
