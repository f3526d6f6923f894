"""Reports that cannot be made say so, and not that a file be smaller."""

import json
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from app.actions.submissions.read_report import ReportTooLarge, send_report_request
from app.formats import FileKind, Limits
from app.pipeline import SourceFile
from app.prepared.gold_cache import GoldCache
from app.prepared.gold_source import GoldFile, GoldSource
from app.scoring.reports import report_size
from app.scoring_processes import MemoryLimitExceeded, ScoringTimeout
from app.scoring_processes.messages import FileResult, FileWritten, Refusal, Reply, WriteReport
from app.worker.scoring_process import StageCpuTimer, handle_report


class Answering:
    """Children that say or raise this."""

    prepared_gold = None

    def __init__(self, answer: Exception | Reply) -> None:
        self._answer = answer

    def call(self, _request: WriteReport) -> Reply:
        """Fail, or answer."""
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer

    def close(self) -> None:
        """Nothing to end."""


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (ScoringTimeout("no reply within 60 s"), "more time"),
        (MemoryLimitExceeded(), "more memory"),
        (Refusal("This table is not available."), "not available"),
        (FileResult(valid=False, total={"too_large": 1}, problems=[]), "more memory"),
    ],
)
def test_a_report_beyond_the_limits_is_no_file_to_make_smaller(answer: Exception | Reply, said: str) -> None:
    with pytest.raises(ReportTooLarge, match=said) as refused:
        send_report_request(Answering(answer).call, cast("WriteReport", None))
    assert refused.value.status == 409
    assert "one part alone" in refused.value.advice


def test_a_table_of_a_part_left_out_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = FileKind("jsonl")
    gold, sent = tmp_path / "gold", tmp_path / "sent"
    gold.write_text("".join(json.dumps({"id": key, "label": key}) + "\n" for key in "ab"))
    sent.write_text(
        "".join(json.dumps({"id": key, "label": key, "scores": {"a": 0.75, "b": 0.25}}) + "\n" for key in "ab")
    )
    request = WriteReport(
        gold=GoldSource(file=GoldFile(SourceFile(gold, kind), "multiclass", classes=["a", "b"])),
        predictions=SourceFile(sent, kind),
        recipe={"primary": "accuracy", "metrics": ["accuracy"]},
        split="all",
        parts=["roc_curve"],
        digits=None,
        include_size=True,
        head={},
        as_csv=True,
        target=tmp_path / "made",
    )
    golds, cpu = GoldCache(Limits(), 1 << 30), StageCpuTimer(60.0, print)
    assert handle_report(golds, request, cpu) == FileWritten()
    monkeypatch.setattr(report_size, "MAX_CURVE_POINTS", 0)
    answer = handle_report(golds, request, cpu)
    assert isinstance(answer, Refusal)
    assert answer.detail.startswith("This table is not available")
    assert handle_report(golds, replace(request, as_csv=False), cpu) == FileWritten()
    assert json.loads((tmp_path / "made").read_text())["left_out"][0]["part"] == "roc_curve"
