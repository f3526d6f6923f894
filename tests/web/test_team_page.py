"""The page of the own team: members, invitations, captaincy and merges."""

import secrets
from collections.abc import Callable
from typing import Any

import pytest

from tests.api.in_process_app import ServedApp
from tests.live_service import open_challenge
from tests.web.conftest import GOLD
from tests.web.people import new_account
from tests.web.reader import Reader, csrf_of, destination, heading


class Players:
    """Two teams of a challenge, each with its captain at a browser."""

    def __init__(self, app: ServedApp, new_reader: Callable[[], Reader]) -> None:
        self.app, self.new_reader = app, new_reader
        self.slug = f"t-{secrets.token_hex(4)}"
        open_challenge(app.admin(), self.slug, GOLD)
        self.path = f"/challenges/{self.slug}/team"
        self.blue, self.green = self.found("Blue"), self.found("Green")

    def found(self, team: str) -> Reader:
        reader = self.new_reader().log_in(new_account(self.app, f"Captain {team}".replace(" ", "-")))
        reader.send(f"/challenges/{self.slug}/register", f"/challenges/{self.slug}/register", team=team)
        return reader

    def invite(self) -> str:
        made = self.act(self.blue, "/invitations", note="for Bob", days="7")
        assert made.status_code == 201
        return str(made.text.partition("/invitation#")[2].partition("<")[0])

    def member(self, name: str = "Bob") -> Reader:
        """Somebody who enters the blue team by its code."""
        reader = self.new_reader().log_in(new_account(self.app, name))
        reader.send("/invitation", "/invitation", code=self.invite())
        register = f"/challenges/{self.slug}/register"
        assert reader.send(register, register).status_code == 303
        return reader

    def act(self, reader: Reader, action: str, **fields: str) -> Any:
        return reader.send(self.path, self.path + action, **fields)

    def teams(self) -> dict[str, list[str]]:
        """The names of the members by team, the captain first."""
        rows = self.app.admin().get(f"/challenges/{self.slug}/teams").json()["items"]
        return {
            row["name"]: [each["name"] for each in sorted(row["members"], key=lambda each: not each["captain"])]
            for row in rows
        }


@pytest.fixture
def players(app: ServedApp, new_reader: Callable[[], Reader]) -> Players:
    return Players(app, new_reader)


def test_a_code_is_shown_once_and_never_in_an_address(players: Players) -> None:
    code = players.invite()
    page = players.blue.get(players.path)
    assert "for Bob" in page.text
    assert code not in page.text
    (row,) = players.app.admin().get(f"/challenges/{players.slug}/teams").json()["items"][1]["invitations"]
    assert players.act(players.blue, "/invitations/revoke", invitation=row["id"]).status_code == 303
    answer = players.green.send("/invitation", "/invitation", code=code)
    assert answer.status_code == 422
    assert "has been revoked" in answer.text


def test_faults_are_said_beside_their_field(players: Players) -> None:
    answer = players.act(players.blue, "/invitations", days="many")
    assert answer.status_code == 422
    assert "must be a whole number" in answer.text
    assert 'value="many"' in answer.text
    assert players.act(players.blue, "/invitations", days="1000").status_code == 422
    assert players.act(players.blue, "/name", name=" ").status_code == 422
    answer = players.act(players.blue, "/name", name="Green")
    assert answer.status_code == 409
    assert heading(answer) == "Team Blue"


def test_a_captain_renames_hands_over_and_removes(players: Players) -> None:
    bob = players.member()
    assert destination(players.act(players.blue, "/name", name="Navy"))[1] == "team-renamed"
    assert heading(bob.get(players.path)) == "Team Navy"
    assert players.path + "/name" not in bob.get(players.path).text  # for the captain alone
    assert players.act(players.blue, "/captain").status_code == 303  # Bob is the only choice
    assert players.teams()["Navy"] == ["Bob", "Captain-Blue"]
    assert players.act(bob, "/remove").status_code == 303
    assert players.teams()["Navy"] == ["Bob"]
    assert "in no team" in players.blue.get(players.path).text


def test_who_is_no_captain_changes_nothing(players: Players) -> None:
    bob = players.member()
    for action in ("/name", "/captain", "/merge", "/invitations"):
        data = {"csrf": csrf_of(bob.get(players.path)), "name": "Mine", "captain": "x", "with": "Green"}
        answer = bob.client.post(players.path + action, data=data, headers={"Origin": players.app.url})
        assert answer.status_code == 403, action
        assert "Only the captain" in answer.text
    assert set(players.teams()) == {"Blue", "Green"}


def test_a_member_leaves(players: Players) -> None:
    bob = players.member()
    assert destination(players.act(bob, "/leave")) == (f"{players.path}", "team-left")
    assert players.teams()["Blue"] == ["Captain-Blue"]
    page = bob.get(players.path)
    assert "in no team" in page.text
    assert f'href="/challenges/{players.slug}/register"' in page.text


def test_two_teams_become_one(players: Players) -> None:
    answer = players.act(players.green, "/merge", **{"with": "Blue"})
    assert destination(answer)[1] == "merge-proposed"
    assert "Your team has proposed to merge" in players.green.get(players.path).text
    page = players.blue.get(players.path)
    assert "your team becomes part of Green" in page.text
    assert destination(players.act(players.blue, "/merge/end"))[1] == "merge-ended"  # declined
    assert "has proposed" not in players.green.get(players.path).text
    players.act(players.green, "/merge", **{"with": "Blue"})
    assert players.act(players.green, "/merge/end").status_code == 303  # withdrawn
    players.act(players.green, "/merge", **{"with": "Blue"})
    answer = players.act(players.blue, "/merge")  # the first form of the page agrees
    assert destination(answer)[1] == "merged"
    assert players.teams() == {"Green": ["Captain-Green", "Captain-Blue"]}


def test_a_merge_with_no_such_team_is_said_beside_the_field(players: Players) -> None:
    for name, said in (("Purple", "has no team"), ("Blue", "is the team itself")):
        answer = players.act(players.blue, "/merge", **{"with": name})
        assert answer.status_code == 422
        assert said in answer.text
        assert 'aria-describedby="fault-with"' in answer.text


def test_answers_change_and_new_terms_are_accepted(players: Players) -> None:
    field = {"name": "affiliation", "label": "University"}
    rules = {"terms": "Newer", "registration_fields": [field]}
    players.app.admin().patch(f"/challenges/{players.slug}", json=rules).raise_for_status()
    stated = {"terms": "1", "answer-affiliation": "Uni"}
    assert destination(players.act(players.blue, "/registration", **stated))[1] == "statements"
    page = players.blue.get(players.path)
    assert "You accepted version 1" in page.text
    assert "You changed your answers." in page.text
    assert 'value="Uni"' in page.text
