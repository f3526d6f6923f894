"""A large upload passes through the API process without ever being held there."""

from pathlib import Path

from tests.faults.inspection import GOLD
from tests.live_service import Live, open_challenge

MIB = 1 << 20


def peak(pid: int) -> int:
    """The most memory that a process has held so far, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) * 1024


def test_a_large_upload_does_not_fill_the_service(live: Live) -> None:
    open_challenge(live.admin(), "large", GOLD)
    assert live.process is not None
    small = {"predictions": [{"id": each["id"], "label": each["label"]} for each in GOLD]}
    assert live.admin().submit("large", small, team="T").json()["status"] == "finished"
    before = peak(live.process.pid)
    answer = live.admin().post(
        "/challenges/large/phases/main/gold",  # predictions of this size do not fit the phase
        content=(b" " * MIB for _ in range(60)),
        headers={"Content-Type": "application/json"},
    )
    assert answer.json()["total"] == {"syntax": 1}
    assert peak(live.process.pid) - before < 16 * MIB
