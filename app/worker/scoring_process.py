"""The program that reads and scores files for the service: requests come over a pipe, with no database and no secrets.

Standard input carries one request per line, standard output one reply per line (app.scoring_processes.messages). The
program exits at once when its standard input closes, whatever it is doing, so that it never outlives the service.
"""

import argparse
import json
import os
import queue
import resource
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, Any

from app.errors import BadRequest, InvalidContent
from app.formats import Limits, Problems, ReadingRules
from app.formats.excerpts import read_excerpts
from app.formats.problems import Problem
from app.formats.strict_reader import cpu_limit_problem, memory_limit_problem
from app.formats.templates.build_template import build_template
from app.pipeline import FileMemoryError, Gold, accepted_case, score_predictions, validate_predictions
from app.prepared.gold_cache import GoldCache, GoldNotPrepared
from app.prepared.gold_folder import PreparedGoldFolder
from app.scoring.declaration.metric import Result
from app.scoring.declaration.recipe import ScoringRecipe
from app.scoring.reports.detailed_report import PROBABILITY_PART, build_detailed_report, write_csv
from app.scoring.reports.instance_table import write_instances
from app.scoring_processes import item_requests, messages
from app.worker import gold_checks, items, uncertainty
from app.worker.cpu_limit import CpuTimer


class StageCpuTimer(CpuTimer):
    """Limits the CPU time of each stage of a request.

    The kernel kills a process that exceeds the limit, which can then no longer reply. So each stage begins with an
    announcement of the reply that applies in this case.
    """

    def __init__(self, seconds: float, announce: Callable[[messages.CpuLimitAnnouncement], None]) -> None:
        super().__init__(seconds)
        self._announce = announce

    def begin_reading(self) -> None:
        """Begin to read the file: from now on an exceeded limit is a problem of the file, not of the gold."""
        self._announce(messages.CpuLimitAnnouncement(_limit_result(cpu_limit_problem(self.seconds))))
        self.begin()

    def begin_scoring(self) -> None:
        """Begin to score: the file is valid, but its scoring would exceed the limit at every retry."""
        self._announce(messages.CpuLimitAnnouncement(messages.ProcessFailure("cpu")))
        self.begin()


def handle_gold(golds: GoldCache, request: messages.CheckGold, cpu: StageCpuTimer) -> messages.Reply:
    """Check gold and summarize it; with an active version, also compare it with that one."""
    active = None if request.active is None else golds.load_valid(request.active)
    cpu.begin_reading()
    try:
        if active is not None:
            return gold_checks.check_correction(golds, request, active)
        gold, problems = golds.load(request.gold)
    except InvalidContent as error:
        return messages.Refusal(error.detail, error.advice, error.extra.get("errors"))
    return messages.FileResult.of(problems) if gold is None else gold_checks.summarize(gold, request.nonce)


def handle_validate(golds: GoldCache, request: messages.ValidatePredictions, cpu: StageCpuTimer) -> messages.Reply:
    """Check predictions without scoring them."""
    gold, recipe = _load_gold_and_recipe(golds, request)
    rules = ReadingRules.strictest(recipe.metrics, recipe.primary)
    settings: dict[str, Any] = {"void": gold.void, "tables": gold.tables, "limits": golds.limits}
    cpu.begin_reading()
    _, problems, notes = validate_predictions(gold.index, gold.spec, request.predictions, rules=rules, **settings)
    return messages.FileResult.of(problems, notes)


def handle_score(golds: GoldCache, request: messages.ScorePredictions, cpu: StageCpuTimer) -> messages.Reply:
    """Check predictions and score them on each split."""
    gold, recipe = _load_gold_and_recipe(golds, request)
    cpu.begin_reading()
    settings: dict[str, Any] = {"decision": recipe.decision, "options": recipe.options, "limits": golds.limits}
    settings |= {"primary": recipe.primary, "on_validated": cpu.begin_scoring}
    if request.accepted:
        settings["rules"] = ReadingRules.strictest(recipe.metrics, recipe.primary).of_accepted_file()
    outcome = score_predictions(gold, request.predictions, recipe.metrics, **settings)
    scores = {split: _scores_to_dict(results) for split, results in outcome.scores.items()}
    return messages.FileResult.of(
        outcome.problems, outcome.notes, scores, outcome.empty_predictions, outcome.content_sha256
    )


def _scores_to_dict(results: dict[str, Result]) -> dict[str, dict[str, Any]]:
    return {
        name: {"value": result.value, "reason": result.reason, "notes": list(result.notes)}
        for name, result in results.items()
    }


def handle_template(golds: GoldCache, request: messages.WriteTemplate, _cpu: StageCpuTimer) -> messages.Reply:
    """Write the file that a participant fills in."""
    gold = golds.load_valid(request.gold)
    try:
        body = build_template(gold.template_ids, gold.spec, request.format, scores=request.scores)
    except BadRequest as error:
        return messages.Refusal(error.detail, error.advice)
    request.target.write_bytes(body)
    return messages.FileWritten()


def handle_report(golds: GoldCache, request: messages.WriteReport, _cpu: StageCpuTimer) -> messages.Reply:
    """Write the detailed report of a submission."""
    gold, recipe = _load_gold_and_recipe(golds, request)
    case = accepted_case(gold, request.predictions, recipe, split=request.split, limits=golds.limits)
    settings: dict[str, Any] = {"size": request.include_size, "points": request.points}
    report = build_detailed_report(case, recipe.options, request.parts, request.digits, **settings)
    if request.as_csv and "left_out" in report:
        (part,) = report["left_out"]
        detail = f"This table is not available: {part['reason']}."
        return messages.Refusal(detail, needs_probabilities=part["part"] == PROBABILITY_PART)
    with request.target.open("w", encoding="utf-8", newline="") as target:
        if request.as_csv:
            write_csv(report, request.parts[0], target)
        else:  # dumps() and write(), because dump() is much slower
            target.write(json.dumps(dict(request.head) | report, ensure_ascii=False, allow_nan=False))
    return messages.FileWritten()


def handle_instances(golds: GoldCache, request: messages.WriteInstances, _cpu: StageCpuTimer) -> messages.Reply:
    """Write the predicted and actual classes of each instance."""
    gold, recipe = _load_gold_and_recipe(golds, request)
    case = accepted_case(gold, request.predictions, recipe, limits=golds.limits)
    with request.target.open("w", encoding="utf-8") as target:
        write_instances(target, request.head, case, gold.ids, gold.splits)
    return messages.FileWritten()


def handle_intervals(golds: GoldCache, request: messages.ComputeIntervals, cpu: StageCpuTimer) -> messages.Reply:
    """Compute the intervals of stored scores."""
    gold, recipe = _load_gold_and_recipe(golds, request)
    cpu.begin_scoring()
    return messages.AnalysisResult(uncertainty.score_intervals(gold, recipe, request, golds.limits))


def handle_board(golds: GoldCache, request: messages.CompareBoard, cpu: StageCpuTimer) -> messages.Reply:
    """Compare the rows of a board."""
    gold, recipe = _load_gold_and_recipe(golds, request)
    cpu.begin_scoring()
    return messages.AnalysisResult(uncertainty.compare_board(gold, recipe, request, golds.limits))


def handle_items(golds: GoldCache, request: item_requests.AnalyzeItems, cpu: StageCpuTimer) -> messages.Reply:
    """Analyse the answers of systems instance by instance."""
    gold, recipe = _load_gold_and_recipe(golds, request)
    cpu.begin_scoring()
    return items.analyze_items(gold, recipe, request, golds.limits)


def handle_relabelling(golds: GoldCache, request: item_requests.TryRelabelling, cpu: StageCpuTimer) -> messages.Reply:
    """Score systems before and after some changes of the gold."""
    gold, recipe = _load_gold_and_recipe(golds, request)
    cpu.begin_scoring()
    return items.try_relabelling(gold, recipe, request, golds.limits)


def handle_corrected_gold(
    golds: GoldCache, request: item_requests.WriteCorrectedGold, _cpu: StageCpuTimer
) -> messages.Reply:
    """Write gold with some changes."""
    return items.write_corrected_gold(golds.load_valid(request.gold), request)


def handle_excerpts(_golds: GoldCache, request: messages.ReadExcerpts, _cpu: StageCpuTimer) -> messages.Reply:
    """Read what stands at the locations of problems; nothing where that takes too much memory."""
    file = request.predictions
    try:
        with file.path.open("rb") as stream:
            found = read_excerpts(stream, file.kind, request.problems)
            return messages.Excerpts(found.texts, found.left_out)
    except MemoryError:
        return messages.Excerpts([None] * len(request.problems), messages.EXCERPTS_TOO_COSTLY)


_RecipeRequest = (
    messages.ValidatePredictions
    | messages.ScorePredictions
    | messages.WriteReport
    | messages.WriteInstances
    | messages.ComputeIntervals
    | messages.CompareBoard
    | item_requests.AnalyzeItems
    | item_requests.TryRelabelling
)


def _load_gold_and_recipe(golds: GoldCache, request: _RecipeRequest) -> tuple[Gold, ScoringRecipe]:
    gold = golds.load_valid(request.gold)
    return gold, golds.recipe(request.gold.name, request.recipe, gold)


REQUEST_HANDLERS: dict[type[messages.Request], Callable[[GoldCache, Any, StageCpuTimer], messages.Reply]] = {
    messages.CheckGold: handle_gold,
    messages.ValidatePredictions: handle_validate,
    messages.ScorePredictions: handle_score,
    messages.WriteTemplate: handle_template,
    messages.WriteReport: handle_report,
    messages.WriteInstances: handle_instances,
    messages.ComputeIntervals: handle_intervals,
    messages.CompareBoard: handle_board,
    item_requests.AnalyzeItems: handle_items,
    item_requests.TryRelabelling: handle_relabelling,
    item_requests.WriteCorrectedGold: handle_corrected_gold,
    messages.ReadExcerpts: handle_excerpts,
}


def _read_requests(lines: IO[bytes], requests: "queue.SimpleQueue[bytes]") -> None:
    """Pass requests on; when the pipe closes, the service is gone, and the process exits even in the midst of work."""
    for line in lines:
        requests.put(line)
    os._exit(0)


def main() -> None:
    """Reply to requests until the pipe closes."""
    parser = argparse.ArgumentParser(description="Reads and scores files for the service. Not meant to be run by hand.")
    parser.add_argument("--memory", type=int, required=True, help="bytes of data memory allowed")
    parser.add_argument("--cpu", type=float, required=True, help="seconds of CPU time for each stage of a request")
    parser.add_argument("--limits", type=json.loads, required=True, help="JSON of the size limits of a file")
    parser.add_argument("--nice", type=int, default=0, help="how much other processes go before this one, 0 to 19")
    parser.add_argument("--prepared", type=json.loads, help="JSON of the folder for prepared gold and its limits")
    options = parser.parse_args()
    # Ctrl-C in a terminal reaches every process of the service; the service itself ends this one, once it has drained.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(options.nice)
    resource.setrlimit(resource.RLIMIT_DATA, (options.memory, options.memory))
    # Replies go to a copy of standard output. What a library prints goes to standard error and cannot mix with them.
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read_requests, args=(sys.stdin.buffer, requests), daemon=True).start()
    send = partial(_send, replies)
    send(messages.ReplyEnvelope(messages.Ready()))
    remarks: list[str] = []
    cpu = StageCpuTimer(options.cpu, send)
    limits = Limits(**options.limits, cpu_budget=cpu.budget)
    golds = GoldCache(limits, options.memory, _open_prepared_gold(options.prepared, remarks.append))
    while True:
        request = messages.decode_request(requests.get())
        cpu.begin()
        try:
            envelope = _handle_request(golds, request, cpu)
        except OSError:
            raise  # a fault of the disk, not of the file: the process exits, and the service retries
        except Exception as error:  # noqa: BLE001 - any fault of the code, which would occur again with this file
            traceback.print_exc()
            envelope = messages.ReplyEnvelope(messages.ProcessFailure("internal", f"it raised {type(error).__name__}"))
        cpu.end()
        send(replace(envelope, remarks=remarks))
        remarks.clear()


def _open_prepared_gold(options: dict[str, Any] | None, warn: Callable[[str], None]) -> PreparedGoldFolder | None:
    if options is None:
        return None
    prepared = PreparedGoldFolder(Path(options["folder"]), options["limit"], options["free"], warn)
    prepared.evict_unused()
    return prepared


def _handle_request(golds: GoldCache, request: messages.Request, cpu: StageCpuTimer) -> messages.ReplyEnvelope:
    try:
        return messages.ReplyEnvelope(REQUEST_HANDLERS[type(request)](golds, request, cpu))
    except GoldNotPrepared as missing:
        return messages.ReplyEnvelope(messages.GoldFileNeeded(missing.damaged))
    except FileNotFoundError as error:
        return messages.ReplyEnvelope(messages.ProcessFailure("file", str(error.filename)))
    except MemoryError as error:
        if isinstance(request, messages.ReadExcerpts) or not golds.evict_others(*_needed_golds(request)):
            if not isinstance(error, FileMemoryError) and not isinstance(request, messages.CheckGold):
                return messages.ReplyEnvelope(messages.ProcessFailure("memory"))
            return messages.ReplyEnvelope(_limit_result(memory_limit_problem(golds.memory)), memory_exhausted=True)
    return _handle_request(golds, request, cpu)  # again, with the memory that other golds occupied


def _needed_golds(request: messages.GoldRequest) -> list[str]:
    """The names of the golds that a request reads: evicting them, only to load them again, would never end."""
    active = request.active if isinstance(request, messages.CheckGold) else None
    return [request.gold.name, *([] if active is None else [active.name])]


def _limit_result(problem: Problem) -> messages.FileResult:
    """The result of a file that exceeded a limit while it was read."""
    problems = Problems()
    problems.stop(problem)
    return messages.FileResult.of(problems)


def _send(replies: IO[bytes], message: messages.ReplyEnvelope | messages.CpuLimitAnnouncement) -> None:
    replies.write(messages.encode(message))
    replies.flush()


if __name__ == "__main__":
    main()
