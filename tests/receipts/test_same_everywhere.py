"""One file scored by the service on SQLite, by a worker on PostgreSQL and by the command: the same digits and claims."""

import base64
import hashlib
import json
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run_command import run_assay, write_file
from tests.cluster import Cluster, cluster
from tests.live_service import Caller, Live, open_challenge

DIGITS = 4
SUBMISSIONS = "/challenges/same/phases/main/submissions"
METRICS = ["accuracy", "auc", "average_precision", "brier", "log_loss", "mcc"]
TASK = {
    "task": "binary",
    "positive_label": "b",
    "recipe": {"primary": "mcc", "metrics": METRICS, "disclosure": {"digits": DIGITS}},
}
_DRAWN = random.Random(20)
GOLD = [{"id": f"é{number}", "label": _DRAWN.choice("ab")} for number in range(97)]
PREDICTIONS = {row["id"]: {"b": round(_DRAWN.random(), 6)} for row in GOLD}


@pytest.fixture(scope="module")
def on_postgresql(postgres_database: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("machines"), postgres_database()) as parts:
        yield parts.start(apis=1, workers=1)


def disclosed(values: Mapping[str, float]) -> list[dict[str, str]]:
    """The values as a receipt states them, rounded here by the C library."""
    return [{"metric": name, "value": str(float(f"{value:.{DIGITS}g}"))} for name, value in sorted(values.items())]


def statement_of(admin: Caller, submission: str) -> tuple[dict[str, Any], Any]:
    """What a receipt says but for ids, times and the commitment, which has a random nonce; and the subjects' hashes."""
    receipt = admin.get(f"/submissions/{submission}/receipt").raise_for_status().json()
    statement = json.loads(base64.b64decode(receipt["payload"]))
    own = {"submission", "team", "evaluatedAt", "commitments", "gold_commitment"}
    return {name: value for name, value in statement["predicate"].items() if name not in own}, statement["subject"]


def test_a_file_has_the_same_digits_and_claims_wherever_it_is_scored(
    live: Live, on_postgresql: Cluster, tmp_path: Path
) -> None:
    """A dry run accepts the same file, and tells no score."""
    gold, mine = write_file(tmp_path / "gold.json", GOLD), write_file(tmp_path / "mine.json", PREDICTIONS)
    words = ("score", "-g", gold, "-p", mine, "--task", "binary", "--positive-label", "b", "--json")
    computed = run_assay(*words, *(word for name in METRICS for word in ("-m", name))).value()["metrics"]
    statements = []
    for admin in (live.admin(), on_postgresql.admin()):
        open_challenge(admin, "same", GOLD, **TASK)

        def send(**query: str) -> dict[str, Any]:
            headers = {"Prefer": "wait=60", "Content-Type": "application/json"}
            sent = admin.post(SUBMISSIONS, content=mine.read_bytes(), params=query, headers=headers)  # noqa: B023
            found: dict[str, Any] = sent.raise_for_status().json()
            return found

        tried = send(test="true", dry_run="true")
        assert (tried["valid"], "scores" in tried) == (True, False), tried
        sent = send(team="Blue")
        assert {name: each["value"] for name, each in sent["scores"].items()} == computed  # of an organizer: all digits
        visitor = Caller(str(admin.base_url).partition("/api")[0], None)
        (row,) = visitor.board("same").json()["rows"]
        shown = {name: each["value"] for name, each in row["scores"].items()}
        visitor.close()
        statements.append(statement_of(admin, sent["id"]))
        assert statements[-1][0]["claims"] == disclosed(computed) == disclosed(shown)
        assert all(float(f"{value:.{DIGITS}g}") == value for value in shown.values())
        assert statements[-1][1][0]["digest"]["sha256"] == hashlib.sha256(mine.read_bytes()).hexdigest()
    assert statements[0] == statements[1]
