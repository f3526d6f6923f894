"""How much of the gold the scores can tell: said at creation, with the recipe and at activation, to each what they know."""

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.store.tables import Phase, Submission
from tests.journeys.support import People, create_challenge, make_recipe, new_slug, require_finished, write_session_of

IDS = [f"t{number:02}" for number in range(20)]
GOLD = [{"id": key, "label": "ab"[at % 2]} for at, key in enumerate(IDS)]
SPLIT = [row | {"split": "public" if at < 6 else "private"} for at, row in enumerate(GOLD)]
FIVE = [{"name": "main", "quota": {"total": 5}, "reports": ["scores"]}]


def created(people: People, phases: list[dict[str, Any]], agreed: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A challenge without gold, as its creation tells it."""
    body = {"slug": new_slug("bound"), "title": "x", "task": "binary", "positive_label": "a", "classes": ["a", "b"]}
    body |= {"registration": "approval"}
    made = people.admin.post("/challenges", json=body | {"recipe": agreed, "phases": phases} | fields)
    assert made.status_code == 201, made.text
    found: dict[str, Any] = made.json()
    return found


def bound(caller: Any, slug: str) -> dict[str, Any]:
    found: list[dict[str, Any]] = caller.get(f"/challenges/{slug}/recipe").json()["inference"]
    (one,) = found
    return one


def test_creation_warns_in_numbers_of_metrics_that_can_tell_every_labelling_apart(people: People) -> None:
    for metric in ("average_precision", "log_loss", "brier", "partial_auc:max_fpr=0.5"):
        made = created(people, FIVE, make_recipe(metric))
        (warning,) = made["warnings"]
        assert metric in warning
        told = bound(people.admin, made["slug"])
        assert told["bits_per_submission"] == 64  # a public board ranks at full precision
        assert "at most 64 bits" in warning
        assert told["bits_at_most"] == pytest.approx(5 * told["bits_per_submission"], abs=0.05)
        assert (told["labels"], told["labels_at_most"]) == (None, None)
        assert told == made["recipe"]["inference"][0]


def test_organizers_are_told_of_the_largest_grant_and_participants_of_none(people: People) -> None:
    closes = (datetime.now(UTC) + timedelta(hours=47)).isoformat()
    phases = [{"name": "main", "closes_at": closes, "quota": {"total": 5, "per_day": 4}}]
    slug = created(people, phases, make_recipe("accuracy"))["slug"]
    for name in ("Blue", "Green", "Red"):
        people[name].join(slug, name)
    without = bound(people.admin, slug)
    assert without == bound(people["Blue"], slug)
    path = f"/challenges/{slug}/phases/main/quota/grants"
    for team, numbers in (
        ("Blue", {"total": 3}),
        ("Blue", {"total": -1}),
        ("Green", {"total": 1}),
        ("Red", {"total": -4}),
    ):
        grant = {"team": team, "reason": "An outage of ours."} | numbers
        assert people.admin.post(path, json=grant).status_code == 201
    assert "With 5 submissions" in without["statement"]
    assert "With 7 submissions" in bound(people.admin, slug)["statement"]
    for name in ("Blue", "Green"):
        assert bound(people[name], slug) == without


def test_metrics_that_count_are_bounded_without_a_warning(people: People) -> None:
    made = created(people, FIVE, make_recipe("accuracy", "f1"))
    assert made["warnings"] == []
    told = made["recipe"]["inference"][0]
    assert [one["granularity"] for one in told["metrics"]] == ["right", "one_table"]
    assert 25 < told["metrics"][0]["bits"] < 30  # of 6 digits; what 20 instances allow is known with the gold
    assert "With 5 submissions" in told["statement"]


def test_with_gold_the_bound_is_that_of_the_instances(people: People) -> None:
    agreed = make_recipe("accuracy")
    rules = {
        "task": "binary",
        "positive_label": "a",
        "phases": [{"name": "main", "quota": {"total": 2}, "reports": ["scores"]}],
    }
    told = bound(people.visitor, create_challenge(people.admin, "bound", GOLD, recipe=agreed, **rules))
    assert (told["instances"], told["classes"], told["labels"], told["split"]) == (20, 2, 20, "all")
    assert told["bits_per_submission"] == pytest.approx(math.log2(22), abs=0.01)  # 21 numbers of hits, or no value
    assert told["labels_at_most"] == math.ceil(2 * math.log2(22))
    one = rules | {"phases": [{"name": "main", "quota": {"total": 1}, "reports": ["scores"]}]}
    precise = bound(
        people.visitor, create_challenge(people.admin, "bound", GOLD, recipe=make_recipe("average_precision"), **one)
    )
    assert precise["labels_at_most"] == 20
    coarse = make_recipe("average_precision", disclosure={"digits": 1})
    few = bound(
        people.visitor, create_challenge(people.admin, "bound", GOLD, recipe=coarse, **one, registration="approval")
    )
    assert few["labels_at_most"] == 20  # digits lower nothing of a public board
    one = one | {
        "phases": [{"name": "main", "quota": {"total": 1}, "leaderboard": "after_close", "reports": ["scores"]}]
    }
    few = bound(
        people.visitor, create_challenge(people.admin, "bound", GOLD, recipe=coarse, **one, registration="approval")
    )
    assert few["labels_at_most"] < 20
    assert few["teams_limited"] > precise["teams_limited"]


def test_activation_says_the_bound_and_only_organizers_read_the_size_of_the_public_split(people: People) -> None:
    made = created(people, FIVE, make_recipe("accuracy"))
    slug, gold = made["slug"], f"/challenges/{made['slug']}/phases/main/gold"
    assert people.admin.post(gold, json=SPLIT).json()["inference"] is None
    activated = people.admin.post(f"{gold}/1/activate").json()
    assert activated["remarks"] == []
    told = activated["inference"]
    assert (told["split"], told["instances"], told["labels"]) == ("public", 6, 6)
    assert told == bound(people.admin, slug)
    assert bound(people["Blue"], slug)["instances"] == 20


def test_before_a_phase_opens_the_size_of_its_gold_is_for_organizers(people: People) -> None:
    later = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    rules = {"phases": [{"name": "main", "quota": {"total": 5}, "opens_at": later}]}
    slug = create_challenge(people.admin, "bound", GOLD, recipe=make_recipe("accuracy"), **rules)
    assert bound(people.admin, slug)["instances"] == 20
    assert bound(people.visitor, slug)["instances"] is None


def test_the_bound_depends_on_no_label(people: People) -> None:
    other = [row | {"label": "ab"[at in {3, 7}]} for at, row in enumerate(GOLD)]
    told = [
        bound(people.visitor, create_challenge(people.admin, "bound", gold, recipe=make_recipe("f1_macro", "accuracy")))
        for gold in (GOLD, other)
    ]
    assert told[0] == told[1]


def test_weights_of_instances_let_every_metric_tell_labels_apart(people: People) -> None:
    weighted = [row | {"weight": 2**at} for at, row in enumerate(GOLD)]
    told = bound(
        people.visitor, create_challenge(people.admin, "bound", weighted, recipe=make_recipe("accuracy"), phases=FIVE)
    )
    assert told["metrics"][0]["bits"] == 20


def test_quota_days_count_over_the_window(people: People) -> None:
    start = datetime(2030, 1, 1, 12, tzinfo=UTC)
    window = {"opens_at": start.isoformat(), "closes_at": (start + timedelta(days=2)).isoformat()}
    phases = [
        {"name": "days", "quota": {"per_day": 4}, **window},  # of three calendar days
        {"name": "both", "quota": {"per_day": 4, "total": 7}, **window},
        {"name": "open-ended", "quota": {"per_day": 4}},
        {"name": "midnight", "quota": {"per_day": 4}, **window, "opens_at": "2030-01-02T00:00:00Z"},
    ]
    phases[3]["closes_at"] = "2030-01-03T00:00:00Z"
    made = created(people, phases, make_recipe("accuracy"))
    assert [told["submissions"] for told in made["recipe"]["inference"]] == [12, 7, None, 4]


def test_what_several_phases_tell_of_the_same_instances_is_said_to_add_up(people: People) -> None:
    phases = [{"name": name, "quota": {"total": 5}} for name in ("main", "second")]
    added = "Other phases with the same instances reveal more."
    for told in created(people, phases, make_recipe("accuracy"))["recipe"]["inference"]:
        assert added in told["statement"]
    assert added not in created(people, phases[:1], make_recipe("accuracy"))["recipe"]["inference"][0]["statement"]


def test_another_recipe_says_its_own_bound(people: People) -> None:
    phases = [FIVE[0] | {"leaderboard": "hidden"}]
    slug = create_challenge(
        people.admin, "bound", GOLD * 1, recipe=make_recipe("average_precision:label=a"), phases=phases
    )
    body = make_recipe("average_precision:label=a", disclosure={"digits": 1})
    before = bound(people.admin, slug)
    after = people.admin.put(f"/challenges/{slug}/recipe", json=body).json()["inference"][0]
    assert after["bits_per_submission"] < before["bits_per_submission"]
    assert "fewer digits" in before["lowered_by"]
    assert "fewer digits" not in after["lowered_by"]


def test_what_is_not_shown_tells_nothing(people: People) -> None:
    hidden = [{"name": "main", "leaderboard": "hidden", "reports": []}]
    told = bound(
        people.admin,
        create_challenge(
            people.admin, "bound", GOLD, recipe=make_recipe("brier"), task="binary", positive_label="a", phases=hidden
        ),
    )
    assert (told["bits_at_most"], told["labels_at_most"], told["lowered_by"]) == (0, 0, [])
    assert told["statement"] == "Participants are shown nothing that depends on the gold labels."


def test_which_of_its_files_counts_tells_a_team_no_digit_that_it_is_not_shown(people: People) -> None:
    agreed = make_recipe("accuracy", disclosure={"digits": 1})
    slug = create_challenge(people.admin, "bound", GOLD, recipe=agreed)
    blue = people["Blue"].join(slug, "Blue")
    sent = [
        require_finished(
            blue.submit(
                slug,
                {
                    key: row["label"] if at < right else "a" if row["label"] == "b" else "b"
                    for at, (key, row) in enumerate(zip(IDS, GOLD, strict=True))
                },
            )
        )
        for right in (15, 16, 12)  # 0.75, shown as 0.8; 0.8; 0.6
    ]
    assert [one["scores"]["accuracy"]["value"] for one in sent] == [0.8, 0.8, 0.6]
    for caller in (blue, people.visitor, people.admin):
        (row,) = caller.board(slug).json()["rows"]
        assert row["submission"] == sent[0]["id"]
    listed = blue.get(f"/challenges/{slug}/phases/main/submissions").json()["items"]
    assert [one["id"] for one in listed] == [one["id"] for one in reversed(sent)]
    exact = people.admin.put(f"/challenges/{slug}/recipe", json=make_recipe("accuracy", disclosure={"digits": 2}))
    assert exact.status_code == 200
    assert blue.board(slug).json()["rows"][0]["submission"] == sent[1]["id"]


def test_a_board_after_the_close_names_the_best_of_files_without_end(people: People) -> None:
    rules = {"phases": [{"name": "main", "leaderboard": "after_close", "reports": []}]}
    slug = create_challenge(people.admin, "bound", GOLD, recipe=make_recipe("accuracy"), **rules)
    told = bound(people.visitor, slug)
    assert (told["bits_per_submission"], told["bits_after_close"], told["labels_at_most"]) == (0, 20, 20)
    made = created(people, rules["phases"], make_recipe("accuracy"))
    assert made["recipe"]["inference"][0]["bits_after_close"] is None


def test_entries_of_baselines_are_rows_that_a_place_is_counted_among(people: People) -> None:
    slug = create_challenge(people.admin, "bound", GOLD, recipe=make_recipe("accuracy"))
    assert bound(people.visitor, slug)["teams_counted"] == 100
    with write_session_of(people.live) as session:
        first = require_finished(people.admin.submit(slug, dict.fromkeys(IDS, "a"), team="Bench", baseline=True))
        row = session.get_one(Submission, first["id"])
        fields = {column.name: getattr(row, column.name) for column in Submission.__table__.columns}
        session.add_all(Submission(**fields | {"id": f"{at:032x}"}) for at in range(1, 121))  # zero is the id of none
    assert bound(people.visitor, slug)["teams_counted"] == 200


def test_withdrawn_files_are_rows_and_late_entries_make_a_board_after_the_close_a_public_one(people: People) -> None:
    rules = {"name": "main", "leaderboard": "after_close", "reports": [], "closes_at": "2090-01-01T00:00:00Z"}
    phase = rules | {"quota": {"per_day": 1}}
    slug = create_challenge(people.admin, "bound", GOLD, recipe=make_recipe("accuracy"), phases=[phase])
    told = bound(people.visitor, slug)
    assert (told["submissions"] is None, told["bits_after_close"] > 0) == (False, True)
    with write_session_of(people.live) as session:
        first = require_finished(people.admin.submit(slug, dict.fromkeys(IDS, "a"), team="Bench"))
        row = session.get_one(Submission, first["id"])
        fields = {column.name: getattr(row, column.name) for column in Submission.__table__.columns}
        fields["withdrawn_at"] = row.submitted_at
        session.add_all(Submission(**fields | {"id": f"{at + 1000:032x}"}) for at in range(120))
        session.get_one(Phase, row.phase_id).late = "unofficial"
    late = bound(people.visitor, slug)
    assert late["teams_counted"] == 200
    assert (late["submissions"], late["bits_after_close"]) == (None, 0)
    assert "late: refuse" in late["lowered_by"][0]
