"""Registering for a challenge: names, approval, and the organizers' decisions."""

from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    People,
    board_ranks,
    create_challenge,
    create_without_gold,
    require_finished,
    require_refused,
)


def test_registering_twice_is_refused(people: People) -> None:
    slug = create_without_gold(people.admin, "twice")
    people["Blue"].join(slug, "Blue")
    require_refused(
        people["Blue"].post(f"/challenges/{slug}/registrations", json={"team": "Other"}), 409, "already_registered"
    )


SAME_NAMES = ("the blue team", "THE  BLUE TEAM", " The Blue Team ", "The Blue\u00a0Team", "Ｔｈｅ Blue Team")


def test_names_that_read_the_same_are_the_same(people: People) -> None:
    slug = create_challenge(people.admin, "names")
    people["Blue"].join(slug, "The Blue Team")
    for name in SAME_NAMES:
        answer = people["Green"].post(f"/challenges/{slug}/registrations", json={"team": name})
        require_refused(answer, 409, "team_name_taken")
    assert people["Green"].join(slug, "The Blue Teams")
    for name in SAME_NAMES[-2:]:
        sent = require_finished(people.admin.submit(slug, CORRECT_PREDICTIONS, team=name))
        assert sent["team"]["name"] == "The Blue Team"


def test_what_is_no_name_is_refused(people: People) -> None:
    slug = create_challenge(people.admin, "no-name")
    for name in ("", "   ", "x" * 101, "\ufdfa" * 90, "a\x00b", 7, None):
        answer = people["Blue"].post(f"/challenges/{slug}/registrations", json={"team": name})
        require_refused(answer, 422, "invalid_request")
        if isinstance(name, str):
            assert people.admin.submit(slug, CORRECT_PREDICTIONS, team=name).status_code in {400, 422}
    assert people.admin.get(f"/challenges/{slug}/teams").json()["items"] == []


def test_organizers_approve_and_bar_with_a_reason(people: People) -> None:
    slug = create_challenge(people.admin, "approval", registration="approval")
    blue = people["Blue"].join(slug, "Blue")
    path = f"/challenges/{slug}/registrations"
    mine = blue.get(path).json()["items"][0]
    assert (mine["status"], mine["user"]["email"]) == ("pending", blue.email.lower())
    require_refused(blue.submit(slug, CORRECT_PREDICTIONS), 403, "registration_pending")
    assert people.admin.patch(f"{path}/{mine['id']}", json={"status": "approved"}).json()["status"] == "approved"
    require_finished(blue.submit(slug, CORRECT_PREDICTIONS))
    barred = people.admin.patch(f"{path}/{mine['id']}", json={"status": "barred", "reason": "two accounts"})
    assert barred.json()["status"] == "barred"
    assert (
        require_refused(blue.submit(slug, CORRECT_PREDICTIONS), 403, "registration_barred")["reason"] == "two accounts"
    )
    assert blue.get(path).json()["items"][0]["reason"] == "two accounts"
    assert board_ranks(people.visitor.board(slug)) == [(None, "Blue")]  # its entry stays, marked
    require_refused(people.admin.patch(f"{path}/{mine['id']}", json={"status": "lost"}), 422, "invalid_request")
    require_refused(
        people.admin.patch(f"{path}/{'0' * 32}", json={"status": "barred", "reason": "two accounts"}), 404, "not_found"
    )


def test_by_invitation_nobody_founds_a_team_alone(people: People) -> None:
    slug = create_without_gold(people.admin, "invited", registration="invitation")
    require_refused(
        people["Blue"].post(f"/challenges/{slug}/registrations", json={"team": "Blue"}), 403, "registration_needs_code"
    )


def test_a_registration_of_another_challenge_is_not_found(people: People) -> None:
    first, second = create_without_gold(people.admin, "first"), create_without_gold(people.admin, "second")
    people["Blue"].join(first, "Blue")
    mine = people["Blue"].get(f"/challenges/{first}/registrations").json()["items"][0]["id"]
    answer = people.admin.patch(
        f"/challenges/{second}/registrations/{mine}", json={"status": "barred", "reason": "two accounts"}
    )
    require_refused(answer, 404, "not_found")


def test_the_last_owner_stays(people: People) -> None:
    slug = create_without_gold(people.admin, "owner")
    path = f"/challenges/{slug}/organizers"
    owner = people.admin.get(path).json()["items"][0]["email"]
    require_refused(people.admin.delete(path, params={"email": owner}), 409, "last_owner")
    require_refused(people.admin.post(path, json={"email": owner, "role": "viewer"}), 409, "last_owner")
    assert people.admin.post(path, json={"email": people["Olga"].email, "role": "owner"}).status_code == 201
    assert people.admin.delete(path, params={"email": people["Olga"].email}).status_code == 204
    require_refused(people.admin.post(path, json={"email": "nobody@example.org"}), 404, "not_found")


def test_accounts_and_slugs_are_unique(people: People) -> None:
    slug = create_without_gold(people.admin, "unique")
    body = {"slug": slug, "title": "x", "task": "multiclass", "recipe": {"primary": "accuracy"}}
    require_refused(people.admin.post("/challenges", json=body), 409, "slug_taken")
    account = {"email": people["Blue"].email.upper(), "name": "Blue", "password": "another password"}
    require_refused(people.visitor.post("/users", json=account), 409, "email_taken")
    require_refused(people.visitor.post("/tokens", json=account | {"name": None}), 422, "invalid_request")
    wrong = {"email": people["Blue"].email, "password": "not the password"}
    unknown = {"email": "nobody@example.org", "password": "not the password"}
    answers = [people.visitor.post("/tokens", json=each) for each in (wrong, unknown)]
    assert answers[0].content == answers[1].content  # whether the account exists is not told
    require_refused(answers[0], 401, "wrong_password")


def test_names_that_look_the_same_are_one(people: People) -> None:
    slug = create_without_gold(people.admin, "look-alike")
    people["Blue"].join(slug, "Blue")
    path = f"/challenges/{slug}/registrations"
    people["Caf\u00e9"].join(slug, "Caf\u00e9")
    for look in ("\u2800", "\u3164", "\ufe0f", "\u034f", "\U000e0100", "\u200d"):
        for name in (f"Blue{look}", f"Bl{look}ue", f"Cafe{look}\u0301"):
            assert people["Green"].post(path, json={"team": name}).status_code in {409, 422}
        require_refused(people["Green"].post(path, json={"team": look}), 422, "invalid_request")


def test_a_bar_said_again_keeps_its_reason(people: People) -> None:
    slug = create_without_gold(people.admin, "barred-twice")
    blue = people["Blue"].join(slug, "Blue")
    mine = blue.get(f"/challenges/{slug}/registrations").json()["items"][0]["id"]
    path = f"/challenges/{slug}/registrations/{mine}"
    people.admin.patch(path, json={"status": "barred", "reason": "two accounts"})
    assert (
        people.admin.patch(path, json={"status": "barred", "reason": "two accounts"}).json()["reason"] == "two accounts"
    )
    assert people.admin.patch(path, json={"status": "approved"}).json()["reason"] is None
