"""Names that could be taken for those of others, as participants try them."""

import threading
from typing import Any

import httpx

from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    People,
    create_challenge,
    create_without_gold,
    require_finished,
    require_refused,
)
from tests.live_service import Caller

LIKE_BLUE = ["\u0412lue", "BIue", "B\u0336lue", "\u0243lue", "B|ue", "Blu\u0435"]


def found(who: Caller, slug: str, name: str) -> httpx.Response:
    return who.post(f"/challenges/{slug}/registrations", json={"team": name})


def test_what_looks_like_a_team_is_refused_whoever_founds_it(people: People) -> None:
    slug = create_challenge(people.admin, "alike")
    people["Blue"].join(slug, "Blue")
    for name in LIKE_BLUE:
        body = require_refused(found(people["Green"], slug, name), 409, "team_name_taken")
        assert "'Blue'" in body["detail"]
        require_refused(people.admin.submit(slug, CORRECT_PREDICTIONS, team=name), 409, "team_name_taken")
    assert [each["name"] for each in people.admin.get(f"/challenges/{slug}/teams").json()["items"]] == ["Blue"]


def test_where_a_board_hides_names_a_refusal_does_not_tell_how_another_is_written(people: People) -> None:
    slug = create_challenge(people.admin, "alike-hidden", phases=[{"name": "main", "anonymous": True}])
    require_finished(people.admin.submit(slug, CORRECT_PREDICTIONS, team="Secret Org Model"))
    for name in ("secret org model", "Secret 0rg Model"):
        body = require_refused(found(people["Green"], slug, name), 409, "team_name_taken")
        assert f"'{name}'" in body["detail"]
        assert "Secret Org Model" not in str(body)


def test_whoever_comes_second_is_refused(people: People) -> None:
    slug = create_without_gold(people.admin, "alike-second")
    people["Green"].join(slug, "BIue")
    require_refused(found(people["Blue"], slug, "Blue"), 409, "team_name_taken")


def test_scripts_that_look_alike_are_not_mixed(people: People) -> None:
    slug = create_without_gold(people.admin, "mixed")
    for name in ("\u0412lue", "Alph\u03b1", "a\ue000b", "\u0336"):
        body = require_refused(found(people["Green"], slug, name), 422, "invalid_request")
        assert body["errors"][0]["pointer"] == "/team"


def test_names_of_all_writing_systems_are_taken_as_they_are(people: People) -> None:
    slug = create_without_gold(people.admin, "writing")
    people["Blue"].join(slug, "Jose")
    names = ("Jos\u00e9", "M\u00fcller & Co. (2)", "\u6771\u4eac Lab", "\u041a\u043e\u043c\u0430\u043d\u0434\u0430")
    for who, name in zip(("Green", "Red", "Eve", "Olga"), names, strict=True):
        assert found(people[who], slug, name).json()["team"]["name"] == name


def test_reserved_names_are_for_organizers(people: People) -> None:
    slug = create_challenge(people.admin, "reserved")
    for name in ("Admin", "ADM1N", "\u0410dmin", "The Organizers", "Baselines", "Anonymous 1", "assay"):
        body: dict[str, Any] = require_refused(found(people["Green"], slug, name), 422, "invalid_request")
        assert body["errors"][0]["pointer"] == "/team"
    assert people.admin.submit(slug, CORRECT_PREDICTIONS, team="Organizers").status_code == 201


def test_of_names_that_look_alike_one_is_founded_however_many_come_at_once(people: People) -> None:
    slug = create_without_gold(people.admin, "alike-race")
    names = ["Blue", "BIue", "B1ue", "B|ue"]
    callers = [people[f"Racer{number}"] for number in range(len(names))]
    answers: list[int] = []
    threads = [
        threading.Thread(target=lambda pair=pair: answers.append(found(pair[0], slug, pair[1]).status_code))
        for pair in zip(callers, names, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [201, 409, 409, 409]


def test_a_team_of_the_same_name_in_another_challenge_is_free(people: People) -> None:
    for slug in (create_challenge(people.admin, "one-name"), create_challenge(people.admin, "one-name")):
        require_finished(people["Blue"].join(slug, "Blue").submit(slug, CORRECT_PREDICTIONS))
