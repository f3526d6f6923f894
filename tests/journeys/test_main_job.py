"""The main job: gold in, predictions in, scores computed, board shown."""

from tests.live_service import Live, open_challenge

GOLD = [{"id": "t1", "label": "cat"}, {"id": "t2", "label": "dog"}, {"id": "t3", "label": "cat"}]


def test_a_submission_is_scored_and_stands_on_the_board(live: Live) -> None:
    open_challenge(live.admin(), "pets", GOLD)
    blue = live.person("Blue").join("pets", "Blue")
    answer = blue.submit(
        "pets",
        {"predictions": [{"id": "t1", "label": "cat"}, {"id": "t2", "label": "dog"}, {"id": "t3", "label": "dog"}]},
        method="half",
    )
    assert answer.status_code == 201, answer.text
    body = answer.json()
    assert body["status"] == "finished"
    values = {name: score["value"] for name, score in body["scores"].items()}
    assert values == {"f1_macro": 0.666667, "accuracy": 0.666667}
    board = live.caller().board("pets").json()
    assert [(row["rank"], row["team"]["name"]) for row in board["rows"]] == [(1, "Blue")]
