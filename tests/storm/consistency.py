"""The verdict on a storm: what was lost, what is there twice, what is wrong, each found by comparing."""

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from app.scoring import SCORER_VERSION
from tests.storm.load_generator import PlannedSubmission
from tests.storm.recomputed_scores import RecomputedScores, recompute_scores
from tests.storm.stored_rows import UNFINISHED, Row, StoredRows

SPLITS = ("all", "private", "public")
Boards = Mapping[str, Mapping[str, Any]]
Rows = Mapping[str, list[Row]]


@dataclass(slots=True)
class ConsistencyReport:
    """Sentences about what should not be; a storm without any has done no harm."""

    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not (self.lost or self.doubled or self.wrong)

    def once(self, count: int, what: str) -> None:
        """Judge the count of what should be there once."""
        if count == 0:
            self.lost.append(what)
        elif count > 1:
            self.doubled.append(f"{what}: {count} times")

    def same(self, found: object, expected: object, what: str) -> None:
        """Judge a value; floats differ when their last bit does."""
        if json.dumps(found, sort_keys=True) != json.dumps(expected, sort_keys=True):
            self.wrong.append(f"{what}: {found!r} instead of {expected!r}")


@dataclass(frozen=True, slots=True)
class AttemptCaps:
    """After how many crashes or interruptions a task fails, which is no fault then."""

    crashes: int
    interruptions: int

    def is_reached(self, tasks: Collection[Row]) -> bool:
        """Whether one of a submission's tasks had to fail."""
        return any(task["crashes"] >= self.crashes or task["interruptions"] > self.interruptions for task in tasks)


@dataclass(frozen=True, slots=True)
class StormEvidence:
    """What was sent, what senders were told, what is stored and what is shown."""

    posts: Collection[PlannedSubmission]
    acknowledged: Mapping[str, Collection[str]]
    """Ids by key."""
    stored: StoredRows
    boards: Boards
    """As an organizer reads them, by split."""
    used: Mapping[str, Mapping[str, int]]
    """Quota by team id."""


def check_consistency(evidence: StormEvidence, caps: AttemptCaps) -> ConsistencyReport:
    """Compare what senders were told with what is stored, and that with what the stored files are worth."""
    posts, stored = evidence.posts, evidence.stored
    verdict = ConsistencyReport()
    _check_keys(verdict, posts, evidence.acknowledged, stored)
    by_key = {post.key: post for post in posts}
    post_of = {row["submission_id"]: by_key[row["key"]] for row in stored.keys if row["key"] in by_key}
    known = [row for row in stored.submissions if row["id"] in post_of]
    tasks, ledger, scores = map(_by_submission, (stored.tasks, stored.ledger, stored.scores))
    final = {row["id"]: _expected(row, post_of[row["id"]], tasks, caps) for row in known}
    for row in known:
        _check_file(verdict, row, post_of[row["id"]], stored)
        _check_state(verdict, row, final[row["id"]], tasks, ledger)
    _check_nothing_left(verdict, stored)
    counted = [row for row in known if final[row["id"]] == "finished" and (stored.files / row["file_key"]).is_file()]
    found = recompute_scores(stored, counted)
    for row in counted:
        _check_scores(verdict, row["id"], found.scores[row["id"]], scores, stored)
    _check_former_scores(verdict, stored, {row["id"] for row in counted}, tasks)
    extra = scores.keys() - found.scores.keys()
    verdict.doubled += [f"scores of submission {each}, which should have none" for each in sorted(extra)]
    _check_boards(verdict, evidence.boards, found)
    _check_quotas(verdict, evidence.used, known, final)
    return verdict


def _by_submission(rows: Iterable[Row]) -> Rows:
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row["submission_id"]].append(row)
    return found


def _check_keys(
    verdict: ConsistencyReport,
    posts: Iterable[PlannedSubmission],
    acknowledged: Mapping[str, Collection[str]],
    stored: StoredRows,
) -> None:
    """Every post has one id, which is stored once, and nothing else is."""
    rows = Counter(row["id"] for row in stored.submissions)
    keys = Counter((row["key"], row["submission_id"]) for row in stored.keys)
    for post in posts:
        ids = acknowledged.get(post.key, ())
        if not ids:
            verdict.wrong.append(f"post {post.number} was never acknowledged")
        elif len(ids) > 1:
            verdict.doubled.append(f"post {post.number} has the ids {sorted(ids)}")
        for each in ids:
            verdict.once(rows[each], f"submission {each} of post {post.number}")
            verdict.once(keys[post.key, each], f"key of submission {each}")
    known_ids = {each for ids in acknowledged.values() for each in ids}
    verdict.doubled += [f"submission {each} was never acknowledged" for each in rows.keys() - known_ids]
    verdict.doubled += [f"key {key} has the id {each} too" for key, each in keys if each not in known_ids]


def _expected(row: Row, post: PlannedSubmission, tasks: Rows, caps: AttemptCaps) -> str:
    if row["status"] == "failed" and caps.is_reached(tasks.get(row["id"], [])):
        return "failed"
    return "finished" if post.valid else "rejected"


def _check_file(verdict: ConsistencyReport, row: Row, post: PlannedSubmission, stored: StoredRows) -> None:
    path = stored.files / row["file_key"]
    if not path.is_file():
        verdict.lost.append(f"file of submission {row['id']}")
        return
    digest = sha256(path.read_bytes()).hexdigest()
    verdict.same(digest, row["sha256"], f"file of submission {row['id']}")
    verdict.same(digest, sha256(post.body).hexdigest(), f"file of post {post.number}")


def _check_state(verdict: ConsistencyReport, row: Row, expected: str, tasks: Rows, ledger: Rows) -> None:
    """One task, done; one final status; quota reserved once, and charged or refunded once."""
    name = f"submission {row['id']}"
    if row["status"] in UNFINISHED:
        verdict.lost.append(f"final status of {name}: it is {row['status']}")
    else:
        verdict.same(row["status"], expected, f"status of {name}")
    own = tasks.get(row["id"], [])
    verdict.once(len(own), f"task of {name}")
    for task in own:
        verdict.same(task["status"], "failed" if expected == "failed" else "done", f"task of {name}")
    entries = Counter(entry["kind"] for entry in ledger.get(row["id"], []))
    verdict.once(entries["reserve"], f"reservation of {name}")
    verdict.once(entries["charge"] + entries["refund"], f"settlement of {name}")
    verdict.same(entries["charge"], int(expected == "finished"), f"charges of {name}")


def _check_nothing_left(verdict: ConsistencyReport, stored: StoredRows) -> None:
    """Nothing is left to do, and nothing was made up."""
    if stored.jobs:
        verdict.wrong.append(f"{stored.jobs} jobs are left in the queue")
    known = {row["id"] for row in stored.submissions}
    for name, rows in (("task", stored.tasks), ("score", stored.scores), ("ledger entry", stored.ledger)):
        verdict.doubled += [f"{name} {row['id']} of no submission" for row in rows if row["submission_id"] not in known]


def _check_scores(
    verdict: ConsistencyReport, submission: str, expected: Mapping[str, Any], scores: Rows, stored: StoredRows
) -> None:
    rows = scores.get(submission, [])
    for split in SPLITS:
        found = [row for row in rows if row["split"] == split]
        verdict.once(len(found), f"{split} scores of submission {submission}")
        for row in found:
            values = {name: score["value"] for name, score in row["metrics"].items()}
            verdict.same(values, expected[split], f"{split} scores of submission {submission}")
            origin = (row["gold_id"], row["recipe_id"], row["scorer_version"])
            verdict.same(origin, (stored.gold["id"], stored.recipe["id"], SCORER_VERSION), f"origin of {row['id']}")


def _check_former_scores(verdict: ConsistencyReport, stored: StoredRows, counted: set[str], tasks: Rows) -> None:
    """What was accepted before the correction keeps its scores by the gold of that time."""
    if stored.former_gold is None:
        return
    former = replace(stored, gold=stored.former_gold)
    by_former = {key for key, own in tasks.items() if any(task["gold_id"] == stored.former_gold["id"] for task in own)}
    known = [row for row in stored.submissions if row["id"] in by_former & counted]
    found, scores = recompute_scores(former, known), _by_submission(stored.former_scores)
    for row in known:
        _check_scores(verdict, row["id"], found.scores[row["id"]], scores, former)


def _check_boards(verdict: ConsistencyReport, boards: Boards, found: RecomputedScores) -> None:
    """The boards as shown, row by row, against those recomputed."""
    for split in SPLITS:
        rows = [
            {
                **{name: row[name] for name in ("rank", "tied", "submission", "entries")},
                "team": row["team"]["id"],
                "scores": {name: score["value"] for name, score in row["scores"].items()},
            }
            for row in boards[split]["rows"]
        ]
        verdict.same(rows, found.boards[split], f"{split} board")


def _check_quotas(
    verdict: ConsistencyReport, used: Mapping[str, Mapping[str, int]], known: Iterable[Row], final: Mapping[str, str]
) -> None:
    finished = Counter(row["team_id"] for row in known if final[row["id"]] == "finished")
    for team, counts in used.items():
        verdict.same(counts["total"], finished[team], f"quota used by team {team}")
        verdict.same(counts["concurrent"], 0, f"submissions of team {team} at work")
