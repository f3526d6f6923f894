"""Gold that is replaced while the first submissions come: each is scored against the gold that is active in the end."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.races.concurrent_clients import CORRECT_PREDICTIONS, GOLD, ConcurrentClients

ROUNDS = 2
OTHER_GOLD = [{**row, "label": {"cat": "dog", "dog": "cat"}[row["label"]]} for row in GOLD]


@pytest.mark.parametrize("part", range(ROUNDS))
def test_no_submission_is_admitted_under_gold_that_is_then_replaced(crowd: ConcurrentClients, part: int) -> None:
    slug = f"gold-replaced-{part}"
    crowd.challenge(slug)
    blue, gold = crowd.member(slug)[-1], f"/challenges/{slug}/phases/main/gold"
    for version in (2, 3, 4):
        uploaded = crowd.admin().post(gold, json=OTHER_GOLD if version % 2 == 0 else GOLD)
        assert uploaded.json()["version"] == version, uploaded.text
    with ThreadPoolExecutor(4) as pool:
        switches = [pool.submit(crowd.admin(version).post, f"{gold}/{version}/activate") for version in (2, 3, 4)]
        sent = pool.submit(blue.submit, slug, CORRECT_PREDICTIONS)
        answers = [switch.result() for switch in switches]
    # Once the submission is admitted, other gold needs a reason, and a switch.
    refused = {answer.json()["code"] for answer in answers if answer.status_code not in {201, 409}}
    assert refused <= {"reason_required"}
    answer = sent.result()
    assert (answer.status_code, answer.json()["status"]) == (201, "finished"), answer.text
    rows = crowd.service.rows(
        "SELECT gold_versions.status FROM score_tasks JOIN gold_versions ON gold_versions.id = score_tasks.gold_id "
        f"JOIN submissions ON submissions.id = score_tasks.submission_id WHERE submissions.id = '{answer.json()['id']}'"
    )
    assert rows == [("active",)]
    assert set(answer.json()["scores"]) == {"accuracy", "f1_macro"}
    active = [row for row in crowd.admin().get(gold).json()["items"] if row["status"] == "active"]
    assert len(active) == 1
    assert answer.json()["scores"]["accuracy"]["value"] == (0 if active[0]["version"] % 2 == 0 else 1)
