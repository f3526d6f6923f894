"""Reports that cannot be made say so, and not that a file be smaller."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.actions.submissions.read_report import ReportTooLarge, send_report_request
from app.formats import Limits
from app.prepared.gold_cache import GoldCache
from app.scoring.reports import report_size
from app.scoring_processes import MemoryLimitExceeded, ScoringTimeout
from app.worker.scoring_process import StageCpuTimer, handle_report


class Answering:
    """Children that say or raise this."""

    def __init__(self, answer: Exception | dict[str, Any]) -> None:
        self._answer = answer

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Fail, or answer."""
        assert request["kind"] == "report"
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer

    def close(self) -> None:
        """Nothing to end."""


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (ScoringTimeout("no answer within 60 s"), "more time"),
        (MemoryLimitExceeded(), "more memory"),
        ({"valid": False, "detail": "There is no such table."}, "no such table"),
    ],
)
def test_a_report_beyond_the_limits_is_no_file_to_make_smaller(answer: Exception | dict[str, Any], said: str) -> None:
    with pytest.raises(ReportTooLarge, match=said) as refused:
        send_report_request(Answering(answer).ask, {"kind": "report"})
    assert refused.value.status == 409
    assert "one part alone" in refused.value.advice


def test_a_table_of_a_part_left_out_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = {"format": "jsonl", "encoding": "", "layout": ""}
    gold, sent = tmp_path / "gold", tmp_path / "sent"
    gold.write_text("".join(json.dumps({"id": key, "label": key}) + "\n" for key in "ab"))
    sent.write_text(
        "".join(json.dumps({"id": key, "label": key, "scores": {"a": 0.75, "b": 0.25}}) + "\n" for key in "ab")
    )
    request = {
        "gold": {
            "path": str(gold),
            **kind,
            "task": "multiclass",
            "positive_label": None,
            "classes": ["a", "b"],
            "beside": {},
        },
        "predictions": {"path": str(sent), **kind},
        "recipe": {"primary": "accuracy", "metrics": ["accuracy"]},
        "split": "all",
        "parts": ["roc_curve"],
        "digits": None,
        "size": True,
        "head": {},
        "csv": True,
        "target": str(tmp_path / "made"),
    }
    golds, cpu = GoldCache(Limits(), 1 << 30), StageCpuTimer(60.0, print)
    assert handle_report(golds, request, cpu) == {"valid": True}
    monkeypatch.setattr(report_size, "MAX_CURVE_POINTS", 0)
    answer = handle_report(golds, request, cpu)
    assert (answer["valid"], answer["detail"][:22]) == (False, "There is no such table")
    assert handle_report(golds, request | {"csv": False}, cpu) == {"valid": True}
    assert json.loads((tmp_path / "made").read_text())["left_out"][0]["part"] == "roc_curve"
