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
from app.formats import Limits, Problems, ReadingRules
from app.formats.problems import Problem
from app.formats.reader import cpu_limit_problem, memory_limit_problem
from app.formats.size_limits import PhaseSize
from app.formats.template import build_template
from app.pipeline import FileMemoryError, Gold, predicted_case, score_predictions, validate_predictions
from app.prepared.gold_cache import GoldCache, GoldNotPrepared, request_source
from app.prepared.gold_folder import PreparedGoldFolder
from app.scoring.declaration.recipe import ScoringRecipe
from app.scoring.evaluation_input import EvaluationInput
from app.scoring.reports.detailed_report import PROBABILITY_PART, build_detailed_report, write_csv
from app.worker.cpu_limit import CpuTimer

ScoringReply = dict[str, Any]


class StageCpuTimer(CpuTimer):
    """The CPU time of each stage of a request; the service learns beforehand what to answer if it is exceeded."""

    def __init__(self, seconds: float, say: Callable[[ScoringReply], None]) -> None:
        super().__init__(seconds)
        self._say = say

    def reading(self) -> None:
        """From now on the time is the file's: what a request takes before one is read is no fault of the file."""
        self._say({"beyond_cpu": _limit_reply(cpu_limit_problem(self.seconds))})
        self.begin()

    def scoring(self) -> None:
        """The file has been read; what scoring it takes is no fault of its writing, but is the same at each try."""
        self._say({"beyond_cpu": {"error": "cpu"}})
        self.begin()


def handle_gold(golds: GoldCache, request: dict[str, Any], cpu: StageCpuTimer) -> ScoringReply:
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
        "longest_id": PhaseSize.of(gold.ids, (), void=gold.void).longest_id_bytes,
        "notes": gold.notes,
    }


def handle_validate(golds: GoldCache, request: dict[str, Any], cpu: StageCpuTimer) -> ScoringReply:
    """Check predictions without scoring them."""
    gold = golds.load_valid(request["gold"])
    recipe = golds.recipe(request, gold)
    rules = ReadingRules.strictest(recipe.metrics, recipe.primary)
    cpu.reading()
    _, problems, notes = validate_predictions(
        gold.index,
        gold.spec,
        request_source(request["predictions"]),
        rules=rules,
        void=gold.void,
        tables=gold.tables,
        limits=golds.limits,
    )
    return problems.to_dict() | {"notes": notes}


def handle_score(golds: GoldCache, request: dict[str, Any], cpu: StageCpuTimer) -> ScoringReply:
    """Check predictions and score them, per split."""
    gold = golds.load_valid(request["gold"])
    recipe = golds.recipe(request, gold)
    cpu.reading()
    outcome = score_predictions(
        gold,
        request_source(request["predictions"]),
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


def handle_template(golds: GoldCache, request: dict[str, Any], _cpu: StageCpuTimer) -> ScoringReply:
    """Write the file to fill in to the path given."""
    gold = golds.load_valid(request["gold"])
    try:
        body = build_template(gold.template_ids, gold.spec, request["format"], scores=request["scores"])
    except BadRequest as refused:
        return {"valid": False, "detail": refused.detail, "remedy": refused.advice}
    Path(request["target"]).write_bytes(body)
    return {"valid": True}


def handle_report(golds: GoldCache, request: dict[str, Any], _cpu: StageCpuTimer) -> ScoringReply:
    """Write the detailed report of a submission to the path given."""
    gold = golds.load_valid(request["gold"])
    recipe = golds.recipe(request, gold)
    case = _stored_case(golds, gold, recipe, request)
    found = build_detailed_report(case, recipe.options, request["parts"], request["digits"], size=request["size"])
    if request["csv"] and "left_out" in found:
        (part,) = found["left_out"]
        detail = f"There is no such table: {part['reason']}."
        return {"valid": False, "detail": detail, "other_scores": part["part"] == PROBABILITY_PART}
    with Path(request["target"]).open("w", encoding="utf-8", newline="") as target:
        if request["csv"]:
            write_csv(found, request["parts"][0], target)
        else:
            target.write(json.dumps(request["head"] | found, ensure_ascii=False, allow_nan=False))  # dump() is slow
    return {"valid": True}


def _stored_case(golds: GoldCache, gold: Gold, recipe: ScoringRecipe, request: dict[str, Any]) -> EvaluationInput:
    """The case of stored predictions, with their scores if these are in order: the recipe may not have looked at them."""
    rules = ReadingRules.strictest(recipe.metrics, recipe.primary)
    for tried in (replace(rules, scores="used"), rules):
        with suppress(ValueError):
            return predicted_case(
                gold,
                request_source(request["predictions"]),
                tried,
                split=request["split"],
                decision=recipe.decision,
                options=recipe.options,
                limits=golds.limits,
            )
    msg = "stored predictions no longer read"
    raise RuntimeError(msg)


REQUEST_HANDLERS: dict[str, Callable[[GoldCache, dict[str, Any], StageCpuTimer], ScoringReply]] = {
    "gold": handle_gold,
    "validate": handle_validate,
    "score": handle_score,
    "template": handle_template,
    "report": handle_report,
}


def _read_requests(lines: IO[bytes], requests: "queue.SimpleQueue[bytes]") -> None:
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
    threading.Thread(target=_read_requests, args=(sys.stdin.buffer, requests), daemon=True).start()
    _send_reply(replies, {"ready": True})
    remarks: list[str] = []
    cpu = StageCpuTimer(given.cpu, partial(_send_reply, replies))
    limits = Limits(**given.limits, cpu_share=cpu.share)
    golds = GoldCache(limits, given.memory, _open_prepared_gold(given.prepared, remarks.append))
    while True:
        request = json.loads(requests.get())
        cpu.begin()
        try:
            answer = _handle_request(golds, request, cpu)
        except OSError:
            raise  # a fault of the disk is not brought about by what is read
        except Exception as fault:  # noqa: BLE001 - whatever it is, it would come again
            traceback.print_exc()
            answer = {"error": f"it met {type(fault).__name__}"}
        cpu.end()
        _send_reply(replies, answer | {"remarks": remarks} if remarks else answer)
        remarks.clear()


def _open_prepared_gold(told: dict[str, Any] | None, say: Callable[[str], None]) -> PreparedGoldFolder | None:
    if told is None:
        return None
    prepared = PreparedGoldFolder(Path(told["folder"]), told["limit"], told["free"], say)
    prepared.evict_unused()
    return prepared


def _handle_request(golds: GoldCache, request: dict[str, Any], cpu: StageCpuTimer) -> ScoringReply:
    try:
        return REQUEST_HANDLERS[request["kind"]](golds, request, cpu)
    except GoldNotPrepared:
        return {"unprepared": True}
    except FileNotFoundError as lost:
        return {"error": "file", "file": str(lost.filename)}
    except MemoryError as lack:
        if not golds.evict_others(request["gold"]):
            if not isinstance(lack, FileMemoryError) and request["kind"] != "gold":
                return {"error": "memory"}
            # As memory ran out once, a fresh program had better go on.
            return _limit_reply(memory_limit_problem(golds.memory)) | {"spent": True}
    return _handle_request(golds, request, cpu)  # with the room that other golds took


def _limit_reply(found: Problem) -> ScoringReply:
    """A limit was met while a file was read: a problem of the file."""
    problems = Problems()
    problems.stop(found)
    return problems.to_dict() | {"notes": [], "scores": {}}


def _send_reply(replies: IO[bytes], answer: ScoringReply) -> None:
    replies.write(json.dumps(answer).encode() + b"\n")
    replies.flush()


if __name__ == "__main__":
    main()
