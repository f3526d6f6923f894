"""Requests and replies come out of their line of JSON as they went in, whatever users wrote into them."""

from pathlib import Path

import pytest

from app.formats import FileKind
from app.pipeline import SourceFile
from app.prepared.gold_source import GoldFile, GoldSource, PreparedFile
from app.scoring_processes.messages import (
    CheckGold,
    CpuLimitAnnouncement,
    FileResult,
    FileWritten,
    GoldFileNeeded,
    GoldSummary,
    ProcessFailure,
    Ready,
    Refusal,
    Reply,
    ReplyEnvelope,
    Request,
    ScorePredictions,
    ValidatePredictions,
    WriteReport,
    WriteTemplate,
    decode_reply,
    decode_request,
    encode,
)

TRICKY = {"type": "Ready", "path": "not a path", "gold": None, "source": {"type": "nothing"}, "é\n": [0.1, 1e300, None]}
PREDICTIONS = SourceFile(Path("/tmp/sent file"), FileKind("csv", "gzip", "long"))
GOLD = GoldSource("a" * 64, GoldFile(PREDICTIONS, "multilabel", "type", ["type", "Ready"], TRICKY, "0" * 64))
REQUESTS: list[Request] = [
    CheckGold(GOLD),
    ValidatePredictions(GoldSource("b"), PREDICTIONS, TRICKY),
    ValidatePredictions(GoldSource("b", prepared=PreparedFile(Path("/tmp/path"), "0" * 64)), PREDICTIONS, TRICKY),
    ScorePredictions(GOLD, PREDICTIONS, TRICKY),
    WriteTemplate(GoldSource(), "jsonl", scores=True, target=Path("/tmp/target")),
    WriteReport(
        GOLD,
        PREDICTIONS,
        TRICKY,
        "all",
        ["scores"],
        None,
        include_size=False,
        head=TRICKY,
        as_csv=True,
        target=Path("t"),
    ),
]
RESULT = FileResult(
    valid=False,
    total={"type": 1},
    problems=[TRICKY],
    total_at_least=True,
    notes=["\ud800"],
    scores={"all": {"f1": TRICKY}},
)
REPLIES: list[Reply] = [
    Ready(),
    GoldFileNeeded(),
    GoldFileNeeded(damaged=True),
    GoldSummary(2, ["type"], True, None, False, 0, 8, ["a note"]),
    RESULT,
    FileWritten(),
    Refusal("It cannot.", "Do not.", [TRICKY], needs_probabilities=True),
    ProcessFailure("file", "/tmp/away"),
]


@pytest.mark.parametrize("request_sent", REQUESTS, ids=lambda message: type(message).__name__)
def test_a_request_is_one_line_that_decodes_to_itself(request_sent: Request) -> None:
    line = encode(request_sent)
    assert (line.count(b"\n"), line[-1:]) == (1, b"\n")
    assert decode_request(line) == request_sent


@pytest.mark.parametrize("reply", REPLIES, ids=lambda message: type(message).__name__)
def test_a_reply_and_its_announcement_decode_to_themselves(reply: Reply) -> None:
    for message in (ReplyEnvelope(reply, ["a remark"], memory_exhausted=True), CpuLimitAnnouncement(reply)):
        line = encode(message)
        assert (line.count(b"\n"), line[-1:]) == (1, b"\n")
        assert decode_reply(line) == message
