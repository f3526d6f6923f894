"""What a token may do is bounded by its scopes, and for how long by its life, whoever bears it."""

from datetime import datetime, timedelta

from app.store.tables import Token
from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    GOLD,
    MAIN_PHASE_PATH,
    SUBMIT_MODES,
    People,
    create_challenge,
    make_recipe,
    require_finished,
    require_refused,
    write_session_of,
)
from tests.live_service import PASSWORD, Caller
from tests.settle import settle


def require_same_board(people: People, one: Caller, other: Caller, slug: str, **query: str) -> None:
    """Both see the same, once neither is shown a cached board that lacks the newest scores."""
    settle(people.live, shown=True)
    assert one.board(slug, **query).content == other.board(slug, **query).content


def test_a_token_for_reading_reads_and_does_not_submit(people: People) -> None:
    slug = create_challenge(people.admin, "scope-read")
    blue = people["Blue"].join(slug, "Blue")
    sent = require_finished(blue.submit(slug, CORRECT_PREDICTIONS))
    reader = people.with_scopes(blue, "read")
    seen, own = (who.get(f"/submissions/{sent['id']}").json() for who in (reader, blue))
    assert seen == own
    for query in SUBMIT_MODES:
        answer = reader.submit(slug, CORRECT_PREDICTIONS, **query)
        require_refused(answer, 403, "insufficient_scope")
        assert 'scope="submit"' in answer.headers["www-authenticate"]
    require_refused(reader.post(f"/submissions/{sent['id']}/select"), 403, "insufficient_scope")
    require_refused(reader.post(f"/challenges/{slug}/registrations", json={"team": "New"}), 403, "insufficient_scope")
    assert [row["id"] for row in blue.get(f"{MAIN_PHASE_PATH.format(slug)}/submissions").json()["items"]] == [
        sent["id"]
    ]


def test_a_token_for_submitting_does_not_organize(people: People) -> None:
    slug = create_challenge(people.admin, "scope-submit")
    owner = people["Olga"]
    named = people.admin.post(f"/challenges/{slug}/organizers", json={"email": owner.email, "role": "owner"})
    assert named.status_code == 201
    submitter = people.with_scopes(owner, "read", "submit")
    require_refused(submitter.patch(f"/challenges/{slug}", json={"title": "x"}), 403, "insufficient_scope")
    require_refused(submitter.get(f"{MAIN_PHASE_PATH.format(slug)}/gold"), 403, "insufficient_scope")
    require_refused(submitter.post(f"{MAIN_PHASE_PATH.format(slug)}/gold", json=GOLD), 403, "insufficient_scope")
    require_refused(submitter.submit(slug, CORRECT_PREDICTIONS, team="Bench"), 403, "insufficient_scope")
    organizer = people.with_scopes(owner, "organize")
    assert organizer.patch(f"/challenges/{slug}", json={"title": "x"}).json()["title"] == "x"


def test_an_organizer_without_that_scope_sees_what_participants_see(people: People) -> None:
    gold = [{"id": f"t{n}", "label": "ab"[n % 2], "split": ("public", "private")[n % 3 == 0]} for n in range(7)]
    slug = create_challenge(people.admin, "scope-view", gold, recipe=make_recipe("accuracy", disclosure={"digits": 2}))
    owner = people["Olga"]
    people.admin.post(f"/challenges/{slug}/organizers", json={"email": owner.email, "role": "owner"})
    blue = people["Blue"].join(slug, "Blue")
    sent = require_finished(blue.submit(slug, {row["id"]: "a" for row in gold}))
    plain, whole = people.with_scopes(owner, "read", "submit"), people.with_scopes(owner, "read", "organize")
    require_same_board(people, plain, people.visitor, slug)
    require_refused(plain.board(slug, split="private"), 403, "split_hidden")
    require_refused(plain.get(f"/submissions/{sent['id']}"), 404, "not_found")
    require_refused(plain.get(f"{MAIN_PHASE_PATH.format(slug)}/submissions"), 403, "not_registered")
    assert plain.get(f"/challenges/{slug}/registrations").json()["items"] == []
    assert whole.get(f"/submissions/{sent['id']}").json()["splits"].keys() == {"public", "private", "all"}
    people.admin.patch(f"/challenges/{slug}", json={"visibility": "private"})
    require_refused(plain.get(f"/challenges/{slug}"), 404, "not_found")
    assert whole.get(f"/challenges/{slug}").status_code == 200


def test_nobody_gets_a_scope_beyond_their_rights(people: People) -> None:
    body = {"email": people["Blue"].email, "password": PASSWORD, "scopes": ["read", "admin"]}
    require_refused(people.visitor.post("/tokens", json=body), 403, "forbidden")
    assert people["Blue"].get("/me").json()["scopes"] == ["read", "submit", "organize"]  # the role decides, not these


def test_a_token_has_a_name_and_an_expiry_of_choice(people: People) -> None:
    body = {"email": people["Blue"].email, "password": PASSWORD, "name": "laptop", "days": 365}
    made = people.visitor.post("/tokens", json=body).json()
    assert made["name"] == "laptop"
    lifetime = datetime.fromisoformat(made["expires_at"]) - datetime.fromisoformat(made["created_at"])
    assert lifetime == timedelta(days=365)
    assert made["id"] in [row["id"] for row in people["Blue"].get("/tokens").json()["items"] if row["name"] == "laptop"]
    for days in (0, 366, True, "9"):
        require_refused(people.visitor.post("/tokens", json=body | {"days": days}), 422, "invalid_request")


def test_an_administrator_acts_as_one_only_with_that_scope(people: People) -> None:
    boss = people.live.person("Boss", admin=True)
    slug = create_challenge(people.admin, "scope-admin", draft=True)
    body = {
        "slug": f"{slug}-made",
        "title": "made",
        "task": "multiclass",
        "recipe": make_recipe("accuracy"),
        "draft": True,
    }
    plain, full = people.with_scopes(boss, "read", "organize"), people.with_scopes(boss, "admin")
    require_refused(plain.get(f"/challenges/{slug}"), 404, "not_found")
    require_refused(plain.post("/challenges", json=body), 403, "insufficient_scope")
    assert full.get(f"/challenges/{slug}").status_code == 200
    assert full.post("/challenges", json=body).status_code == 201


def test_a_revoked_token_ends_at_once_and_only_its_owner_revokes_it(people: People) -> None:
    blue = people["Blue"]
    doomed = people.with_scopes(blue, "read")
    newest = blue.get("/tokens").json()["items"][0]
    assert newest["scopes"] == ["read"]
    require_refused(people["Green"].delete(f"/tokens/{newest['id']}"), 404, "not_found")
    assert doomed.get("/me").status_code == 200
    assert blue.delete(f"/tokens/{newest['id']}").status_code == 204
    require_refused(doomed.get("/me"), 401, "unauthorized")
    require_refused(doomed.get("/metrics"), 401, "unauthorized")
    assert newest["id"] not in {token["id"] for token in blue.get("/tokens").json()["items"]}


def test_a_token_for_reading_revokes_only_itself(people: People) -> None:
    blue = people["Blue"]
    other, reader = people.with_scopes(blue, "submit"), people.with_scopes(blue, "read")
    own_token, other_token = (token["id"] for token in blue.get("/tokens").json()["items"][:2])
    require_refused(reader.delete(f"/tokens/{other_token}"), 403, "insufficient_scope")
    assert other.get("/me").status_code == 200
    assert reader.delete(f"/tokens/{own_token}").status_code == 204
    require_refused(reader.get("/me"), 401, "unauthorized")


def test_a_token_for_submitting_alone_reads_no_scores(people: People) -> None:
    slug = create_challenge(people.admin, "scope-blind")
    blue = people["Blue"].join(slug, "Blue")
    blind = people.with_scopes(blue, "submit")
    sent = require_finished(blind.submit(slug, CORRECT_PREDICTIONS))
    assert sent["scores"] == {}
    require_refused(blind.get(f"/submissions/{sent['id']}"), 403, "insufficient_scope")
    assert blind.post(f"/submissions/{sent['id']}/select").json()["scores"] == {}
    assert blue.get(f"/submissions/{sent['id']}").json()["scores"]["accuracy"]["value"] == 1


def test_a_token_that_may_not_read_sees_of_a_board_what_visitors_see(people: People) -> None:
    slug = create_challenge(people.admin, "scope-board", phases=[{"name": "main", "anonymous": True}])
    blue = people["Blue"].join(slug, "Blue")
    require_finished(blue.submit(slug, CORRECT_PREDICTIONS))
    blind = [people.with_scopes(blue, *scopes) for scopes in (("submit",), ("organize",), ("submit", "organize"))]
    assert "Blue" in blue.board(slug).text
    for caller in blind:
        for query in ({}, {"format": "csv"}):
            require_same_board(people, caller, people.visitor, slug, **query)
    people.admin.patch(f"/challenges/{slug}", json={"visibility": "private"})
    submitter, organizer, both = blind
    for caller in (submitter, both):
        for query in ({}, {"format": "csv"}):
            require_refused(caller.board(slug, **query), 403, "insufficient_scope")
        assert caller.get(f"/challenges/{slug}").status_code == 200
        assert require_finished(caller.submit(slug, CORRECT_PREDICTIONS))["scores"] == {}
    require_refused(organizer.board(slug), 404, "not_found")
    require_refused(organizer.get(f"/challenges/{slug}"), 404, "not_found")
    assert "Blue" in people.with_scopes(blue, "read").board(slug).text
    for caller, seen in ((submitter, True), (organizer, False)):
        listed = caller.get("/challenges", params={"limit": 200}).json()["items"]
        assert (slug in {one["slug"] for one in listed}) == seen


def test_a_page_of_tokens_goes_on_where_a_revoked_one_stood(people: People) -> None:
    blue = people["Blue"]
    for _ in range(3):
        people.with_scopes(blue, "read")
    first = blue.get("/tokens", params={"limit": 1}).json()
    assert blue.delete(f"/tokens/{first['next']}").status_code == 204
    second = blue.get("/tokens", params={"limit": 1, "cursor": first["next"]})
    assert second.status_code == 200, second.text
    assert second.json()["items"][0]["id"] < first["next"]


def test_a_token_ends_after_ninety_days(people: People) -> None:
    blue = people["Blue"]
    aging = people.with_scopes(blue, "read")
    newest = blue.get("/tokens").json()["items"][0]
    made, ends = (datetime.fromisoformat(newest[name]) for name in ("created_at", "expires_at"))
    assert ends - made == timedelta(days=90)
    with write_session_of(people.live) as session:
        session.get_one(Token, newest["id"]).expires_at -= timedelta(days=89)
    assert aging.get("/me").status_code == 200
    with write_session_of(people.live) as session:
        session.get_one(Token, newest["id"]).expires_at -= timedelta(days=1)
    require_refused(aging.get("/me"), 401, "unauthorized")
    require_refused(aging.get("/metrics"), 401, "unauthorized")  # not even what a visitor may read
    assert blue.get("/me").status_code == 200
