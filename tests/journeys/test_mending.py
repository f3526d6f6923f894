"""A participant who gets everything wrong once gets everything right the second time: the answer alone says how."""

import csv
import io
import json
from typing import Any

from tests.journeys.support import MAIN_PHASE_PATH, People, create_challenge, make_recipe
from tests.live_service import Caller

TRUTH = {"item-001": "cat", "item-002": "dog", "item-003": "a b", "item-004": "cat", "item-005": "dog"}
RIGHT = {"item-001": "cat", "item-002": "cat", "item-003": "a b", "item-004": "dog", "item-005": "dog"}


def check(who: Caller, slug: str, body: bytes, filename: str) -> dict[str, Any]:
    answer = who.post(
        f"{MAIN_PHASE_PATH.format(slug)}/submissions", content=body, params={"dry_run": "true", "filename": filename}
    )
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def mended_label(problem: dict[str, Any], instance: str) -> str:
    """What the answer expects, or else what the system meant all along."""
    expected = problem.get("expected", "")
    return str(json.loads(expected)) if problem["code"] == "unknown_label" and ", " not in expected else RIGHT[instance]


def mend_records(records: list[Any], problems: list[dict[str, Any]]) -> list[Any]:
    """Do what each problem says, at the place that it names."""
    superfluous: set[int] = set()
    for problem in problems:
        if problem["code"] == "missing_instances":
            records.append({"id": problem["instance_id"], "label": RIGHT[problem["instance_id"]]})
            continue
        _, row, *rest = problem["pointer"].split("/")
        at, field = int(row), rest[0] if rest else "label"
        if problem["code"] == "duplicate_id":
            superfluous.add(at)
        elif problem["code"] == "unknown_id":
            records[at][field] = json.loads(problem["expected"])
        else:
            records[at].pop("labels", None)
            records[at]["label"] = mended_label(problem, records[at]["id"])
    return [record for at, record in enumerate(records) if at not in superfluous]


def test_records_are_right_the_second_time(people: People) -> None:
    slug = create_challenge(people.admin, "mending-json", TRUTH, recipe=make_recipe("accuracy"))
    ada = people["Ada"].join(slug, "Ada")
    wrong = [
        {"id": "item 1", "label": "Cat"},
        {"id": "item-002", "labels": ["cat"]},
        {"id": "ITEM_3", "label": "A_B"},
        {"id": "item-004", "label": ""},
        {"id": "item-004", "label": "cat"},
    ]
    first = check(ada, slug, json.dumps(wrong).encode(), "mine.json")
    assert first["total"] == {
        "wrong_shape": 1,
        "duplicate_id": 1,
        "unknown_id": 2,
        "missing_instances": 3,
        "unknown_label": 2,
        "empty_label": 1,
    }
    # an id that was only mistyped is missing too; who mends it need not add it again
    mistyped = {json.loads(one["expected"]) for one in first["problems"] if one["code"] == "unknown_id"}
    told = [
        one for one in first["problems"] if one["instance_id"] not in mistyped or one["code"] != "missing_instances"
    ]
    second = mend_records(wrong, told)
    assert check(ada, slug, json.dumps(second).encode(), "mine.json")["problems"] == []


def test_a_table_is_right_the_second_time(people: People) -> None:
    slug = create_challenge(people.admin, "mending-csv", TRUTH, recipe=make_recipe("accuracy"))
    ada = people["Ada"].join(slug, "Ada")
    wrong = "id,label\nitem 1,Cat\nitem-002,\nitem-003,a  b\nitem-004,cat\nitem-004,dog\nitem-005,dog,1\n"
    first = check(ada, slug, wrong.encode(), "mine.csv")
    rows = list(csv.reader(io.StringIO(wrong)))
    superfluous: set[int] = set()
    for problem in first["problems"]:
        if problem["code"] == "missing_instances":
            continue  # both rows are there, and are about to be mended
        row = rows[problem["line"] - 1]
        if problem["code"] == "duplicate_id":
            superfluous.add(problem["line"] - 1)
        elif problem["code"] == "unknown_id":
            row[problem["column"] - 1] = json.loads(problem["expected"])
        elif problem["code"] == "wrong_shape":
            del row[problem["column"] - 1 :]
        else:
            row[problem["column"] - 1] = mended_label(problem, row[0])
    out = io.StringIO(newline="")
    csv.writer(out).writerows(row for at, row in enumerate(rows) if at not in superfluous)
    assert check(ada, slug, out.getvalue().encode(), "mine.csv")["problems"] == []
