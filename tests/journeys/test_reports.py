"""The detailed report of a submission: everything for organizers, for its team what the phase allows."""

import csv
import io
import json
from typing import Any

import pytest

from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    GOLD,
    People,
    create_challenge,
    make_recipe,
    require_finished,
    require_refused,
    submit_for_teams,
)

SPLIT = [row | {"split": "public" if row["id"] in {"t1", "t3"} else "private"} for row in GOLD]
WRONG = CORRECT_PREDICTIONS | {"t4": "a"}


def phases(*reports: str) -> list[dict[str, Any]]:
    return [{"name": "main", "reports": list(reports)}]


def test_organizers_read_everything(people: People) -> None:
    slug = create_challenge(people.admin, "report-all", phases=phases())
    key = submit_for_teams(people.admin, slug, [("Blue", WRONG)])[0]
    answer = people.admin.get(f"/submissions/{key}/report")
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert (found["submission"], found["split"], found["instances"], found["classes"]) == (key, "all", 4, ["a", "b"])
    assert found["per_class"]["a"] | {"tp": 2, "fp": 1, "fn": 0, "tn": 1} == found["per_class"]["a"]
    assert found["per_class"]["b"]["recall"] == 0.5
    assert found["confusion"]["matrix"] == [[2, 0], [1, 1]]
    assert found["scores"]["accuracy"]["value"] == 0.75
    assert "roc_curve" not in found  # no scores were sent
    same = people.admin.get(f"/submissions/{key}/report", headers={"If-None-Match": answer.headers["etag"]})
    assert same.status_code == 304


def test_a_team_reads_what_the_phase_allows(people: People) -> None:
    slug = create_challenge(
        people.admin,
        "report-some",
        phases=phases("scores", "per_class"),
        recipe=make_recipe("accuracy", disclosure={"digits": 2}),
    )
    blue = people["Blue"].join(slug, "Blue")
    key = require_finished(blue.submit(slug, CORRECT_PREDICTIONS | {"t1": "b", "t4": "a"}))["id"]
    found = blue.get(f"/submissions/{key}/report").json()
    assert set(found) >= {"per_class", "scores"}
    assert "confusion" not in found
    assert found["per_class"]["a"]["f1"] == 0.5
    require_refused(blue.get(f"/submissions/{key}/report", params={"part": "confusion"}), 403, "forbidden")
    require_refused(blue.get(f"/submissions/{key}/report", params={"part": "nonsense"}), 400, "bad_request")
    require_refused(people["Red"].get(f"/submissions/{key}/report"), 404, "not_found")
    require_refused(people.visitor.get(f"/submissions/{key}/report"), 401, "unauthorized")


def test_a_phase_that_shows_scores_alone_shows_no_part(people: People) -> None:
    slug = create_challenge(people.admin, "report-none", phases=phases("scores"))
    blue = people["Blue"].join(slug, "Blue")
    key = require_finished(blue.submit(slug, WRONG))["id"]
    found = blue.get(f"/submissions/{key}/report").json()
    assert not {"per_class", "confusion", "roc_curve", "groups"} & set(found)
    assert found["scores"]["accuracy"]["value"] == 0.75
    hidden = create_challenge(people.admin, "report-hidden", phases=phases())
    blue.join(hidden, "Blue")
    key = require_finished(blue.submit(hidden, WRONG))["id"]
    assert "scores" not in blue.get(f"/submissions/{key}/report").json()


def test_what_organizers_alone_may_read_is_not_kept_for_others(people: People) -> None:
    slug = create_challenge(
        people.admin,
        "report-kept",
        classes=["a", "b", "only in training"],
        phases=phases("scores", "per_class", "confusion", "curves"),
        recipe=make_recipe("f1_macro", disclosure={"digits": "full"}),
    )
    blue = people["Blue"].join(slug, "Blue")
    key = require_finished(blue.submit(slug, WRONG))["id"]
    for asked in ({}, {"part": "confusion"}):
        there, here = (one.get(f"/submissions/{key}/report", params=asked) for one in (people.admin, blue))
        assert "only in training" in json.dumps(there.json()["scores"])
        assert set(here.json()["scores"]["f1_macro"]) == {"value"}
        assert here.headers["etag"] != there.headers["etag"]


def test_only_the_split_that_is_shown_is_reported(people: People) -> None:
    slug = create_challenge(people.admin, "report-split", gold=SPLIT, phases=phases("scores", "per_class", "confusion"))
    blue = people["Blue"].join(slug, "Blue")
    key = require_finished(blue.submit(slug, WRONG))["id"]
    found = blue.get(f"/submissions/{key}/report").json()
    assert (found["split"], found["confusion"]["matrix"]) == ("public", [[1, 0], [0, 1]])
    require_refused(blue.get(f"/submissions/{key}/report", params={"split": "private"}), 403, "split_hidden")
    private = people.admin.get(f"/submissions/{key}/report", params={"split": "private"}).json()
    assert private["confusion"]["matrix"] == [[1, 0], [1, 0]]
    assert people.admin.get(f"/submissions/{key}/report", params={"split": "all"}).json()["instances"] == 4


def test_without_parts_a_report_does_not_tell_how_many_ids_are_public(people: People) -> None:
    reports = []
    for public in ({"t1", "t3"}, {"t1", "t2", "t3"}):
        gold = [row | {"split": "public" if row["id"] in public else "private"} for row in GOLD]
        slug = create_challenge(people.admin, "report-size", gold=gold, phases=phases())
        blue = people["Blue"].join(slug, "Blue")
        key = require_finished(blue.submit(slug, CORRECT_PREDICTIONS))["id"]
        assert people.admin.get(f"/submissions/{key}/report").json()["instances"] == len(public)
        seen = blue.get(f"/submissions/{key}/report").json()
        reports.append({name: value for name, value in seen.items() if name not in {"submission", "challenge"}})
    assert reports[0] == reports[1]


def test_a_report_follows_a_change_of_the_recipe(people: People) -> None:
    recipe = make_recipe("accuracy")
    slug = create_challenge(people.admin, "report-recipe", recipe=recipe)
    blue = people["Blue"].join(slug, "Blue")
    key = require_finished(blue.submit(slug, WRONG))["id"]
    assert blue.get(f"/submissions/{key}/report").json()["recipe_version"] == 1
    people.admin.put(f"/challenges/{slug}/recipe", json=recipe | {"selection": "latest"}).raise_for_status()
    assert blue.get(f"/submissions/{key}/report").json()["recipe_version"] == 2


def test_a_part_is_a_table_too(people: People) -> None:
    slug = create_challenge(people.admin, "report-csv")
    key = submit_for_teams(people.admin, slug, [("Blue", WRONG)])[0]
    answer = people.admin.get(f"/submissions/{key}/report", params={"format": "csv"})
    assert answer.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [(row["label"], row["tp"], row["recall"]) for row in rows] == [("a", "2", "1.0"), ("b", "1", "0.5")]
    cells = people.admin.get(f"/submissions/{key}/report", params={"format": "csv", "part": "confusion"}).text
    assert cells == "gold,predicted,count\na,a,2\nb,a,1\nb,b,1\n"


def test_curves_and_calibration_come_from_scores(people: People) -> None:
    slug = create_challenge(people.admin, "report-curves", phases=phases("scores", "curves"))
    blue = people["Blue"].join(slug, "Blue")
    rows = [{"id": key, "label": label, "scores": {"a": 0.75, "b": 0.25}} for key, label in WRONG.items()]
    key = require_finished(blue.submit(slug, rows))["id"]
    found = blue.get(f"/submissions/{key}/report").json()
    assert [curve["label"] for curve in found["roc_curve"]["curves"]] == ["a", "b"]
    assert found["calibration"]["bins"]
    table = blue.get(f"/submissions/{key}/report", params={"format": "csv", "part": "roc_curve"}).text.splitlines()
    assert table[0] == "label,threshold,fpr,tpr"
    assert len(table) == 5


def test_scores_that_are_no_probabilities_have_a_report_without_calibration(people: People) -> None:
    lower = make_recipe("accuracy", options={"score_direction": "lower"})
    for name, agreed, pair in (
        ("zero", make_recipe("accuracy"), [0.0, 0.0]),
        ("huge", make_recipe("accuracy"), [1.7e308, -1.7e308]),
        ("lower", lower, [0.75, 0.25]),
    ):
        slug = create_challenge(people.admin, f"report-{name}", phases=phases("scores", "curves"), recipe=agreed)
        blue = people["Blue"].join(slug, "Blue")
        rows = [
            {"id": key, "label": label, "scores": dict(zip("ab", pair, strict=True))} for key, label in WRONG.items()
        ]
        path = f"/submissions/{require_finished(blue.submit(slug, rows))['id']}/report"
        found = blue.get(path).json()
        assert [entry["part"] for entry in found["left_out"]] == ["calibration"], found
        assert "probabilities" in found["left_out"][0]["reason"]
        assert len(found["roc_curve"]["curves"]) == 2
        assert blue.get(path, params={"part": "calibration"}).json()["left_out"] == found["left_out"]
        answer = blue.get(path, params={"part": "calibration", "format": "csv"})
        assert answer.status_code == 400
        assert "This table is not available: it needs probabilities" in answer.text


def test_there_is_no_report_without_scores(people: People) -> None:
    slug = create_challenge(people.admin, "report-invalid")
    blue = people["Blue"].join(slug, "Blue")
    key = blue.submit(slug, {"t1": "z"}).json()["id"]
    require_refused(blue.get(f"/submissions/{key}/report"), 409, "not_finished")


def test_the_warning_about_curves(people: People) -> None:
    body = {
        "slug": "report-warned",
        "title": "t",
        "task": "multiclass",
        "recipe": make_recipe("accuracy"),
        "phases": phases("curves"),
    }
    assert "can infer the gold labels" in json.dumps(people.admin.post("/challenges", json=body).json())


@pytest.mark.ci
def test_a_part_that_is_too_large_is_left_out_with_a_reason(people: People) -> None:
    classes = [f"c{number}" for number in range(100)]
    gold = [{"id": f"t{at}", "label": classes[at % 100]} for at in range(2_001)]
    slug = create_challenge(people.admin, "report-large", gold=gold, task="multiclass")
    columns = {
        "ids": [row["id"] for row in gold],
        "labels": [row["label"] for row in gold],
        "classes": classes,
        "scores": [[at / 400_000] * 99 + [1 - 99 * at / 400_000] for at in range(2_001)],
    }
    body = people.admin.submit(slug, columns, team="Blue")
    key = require_finished(body)["id"]
    path = f"/submissions/{key}/report"
    found = people.admin.get(path).json()
    assert [entry["part"] for entry in found["left_out"]] == ["roc_curve", "pr_curve"]
    assert "200,000 points" in found["left_out"][0]["reason"]
    assert "confusion" in found
    alone = people.admin.get(path, params={"part": "roc_curve"}).json()
    assert [curve["points"] for curve in alone["roc_curve"]["curves"]] == [2_002] * 100
    assert "classes" not in alone
    thinned = people.admin.get(path, params={"points": 100}).json()
    assert "left_out" not in thinned
    for curve in thinned["roc_curve"]["curves"]:
        assert (curve["points"], curve["points_in_all"], curve["fpr"][-1]) == (len(curve["tpr"]), 2_002, 1.0)
        assert curve["points"] <= 100
    assert len(people.admin.get(path, params={"part": "pr_curve", "format": "csv"}).text.splitlines()) == 200_201


def test_label_sets_with_scores_have_a_report_whose_parts_are_tables(people: People) -> None:
    gold = [{"id": "t1", "labels": ["a"]}, {"id": "t2", "labels": ["a", "b"]}, {"id": "t3", "labels": ["b"]}]
    slug = create_challenge(people.admin, "report-sets", gold, task="multilabel", recipe=make_recipe("f1_macro"))
    blue = people["Blue"].join(slug, "Blue")
    scores = {"a": 0.75, "b": 0.25}
    key = require_finished(blue.submit(slug, [{"id": row["id"], "labels": ["a"], "scores": scores} for row in gold]))[
        "id"
    ]
    answer = people.admin.get(f"/submissions/{key}/report")
    assert answer.status_code == 200, answer.text
    assert {"per_class", "label_sets", "confusion", "roc_curve"} <= set(answer.json())
    assert "calibration" not in answer.json()
    cells = people.admin.get(f"/submissions/{key}/report", params={"format": "csv", "part": "confusion"}).text
    assert cells.splitlines()[0] == "gold,predicted,row_count,column_count"


def test_what_cannot_be_ranked_is_said_to_be_in_the_report(people: People) -> None:
    for metric, said in (
        ("prevalence_macro", "no better direction"),
        ("roc_curve", "the report of a submission gives"),
        ("det_curve", "assay score --metric"),
    ):
        body = {"slug": "unranked", "title": "t", "task": "multiclass", "recipe": make_recipe("accuracy", metric)}
        assert said in json.dumps(people.admin.post("/challenges", json=body).json())
