"""A user's registrations in all challenges, and what a code invites to."""

from tests.journeys.support import People, create_challenge, create_without_gold

HEADER = "Assay-Invitation"


def test_own_registrations_with_phases_and_quota(people: People) -> None:
    first, second = (
        create_challenge(people.admin, "own", phases=[{"name": "main", "quota": {"per_day": 3}}]),
        create_challenge(people.admin, "own"),
    )
    blue = people.live.person("Lister")
    assert blue.get("/me/registrations").json() == {"items": [], "next": None}
    blue.join(first, "Blue")
    blue.join(second, "Azure")
    page = blue.get("/me/registrations", params={"limit": 1}).json()
    (newest,) = page["items"]
    assert (newest["challenge"], newest["team"]["name"], newest["status"]) == (second, "Azure", "approved")
    (oldest,) = blue.get("/me/registrations", params={"limit": 1, "cursor": page["next"]}).json()["items"]
    (phase,) = oldest["phases"]
    assert (oldest["challenge"], phase["slug"], phase["open"]) == (first, "main", True)
    assert (phase["remaining"]["per_day"], phase["remaining"]["total"]) == (3, None)
    assert people.live.person("Other").get("/me/registrations").json()["items"] == []


def test_a_challenge_that_one_no_longer_sees_is_named_without_its_title(people: People) -> None:
    slug, blue = create_without_gold(people.admin, "own"), people.live.person("Barred")
    blue.join(slug, "Blue")
    (row,) = people.admin.get(f"/challenges/{slug}/registrations").json()["items"]
    people.admin.patch(f"/challenges/{slug}/registrations/{row['id']}", json={"status": "barred", "reason": "Why"})
    (own,) = blue.get("/me/registrations").json()["items"]
    assert (own["status"], own["reason"], own["title"] is None) == ("barred", "Why", False)
    assert own["phases"][0]["remaining"] is None
    people.admin.patch(f"/challenges/{slug}", json={"visibility": "private"}).raise_for_status()
    (own,) = blue.get("/me/registrations").json()["items"]
    assert (own["challenge"], own["title"], own["phases"]) == (slug, None, [])


def test_a_code_says_what_it_invites_to(people: People) -> None:
    slug = create_without_gold(people.admin, "own")
    title = people.admin.get(f"/challenges/{slug}").json()["title"]
    captain, guest = people.live.person("Captain"), people.live.person("Guest")
    captain.join(slug, "Blue")
    (team,) = captain.get(f"/challenges/{slug}/teams").json()["items"]
    codes = {
        "site": people.admin.post("/invitations", json={}),
        "challenge": people.admin.post(f"/challenges/{slug}/invitations", json={}),
        "team": captain.post(f"/challenges/{slug}/teams/{team['id']}/invitations", json={}),
    }
    nothing = {"challenge": None, "title": None, "team": None}
    about = {"challenge": slug, "title": title, "team": None}
    expected = {"site": nothing, "challenge": about, "team": about | {"team": "Blue"}}
    for kind, answer in codes.items():
        headers = {HEADER: answer.json()["code"]}
        assert guest.get("/invitation", headers=headers).json() == expected[kind] | {"kind": kind}
        assert people.visitor.get("/invitation", headers=headers).json() == nothing | {"kind": kind}
    people.admin.patch(f"/challenges/{slug}", json={"visibility": "private"}).raise_for_status()
    of_team, of_challenge = ({HEADER: codes[kind].json()["code"]} for kind in ("team", "challenge"))
    assert guest.get("/invitation", headers=of_team).json() == nothing | {"kind": "team"}
    assert guest.get("/invitation", headers=of_challenge).json() == about | {"kind": "challenge"}
    assert guest.get("/invitation", headers={HEADER: "never-was"}).json()["code"] == "invalid_invitation"


def test_a_field_that_was_added_without_saying_whether_it_is_required_is_optional(people: People) -> None:
    slug, blue = create_without_gold(people.admin, "own"), people.live.person("Optional")
    fields = [{"name": "orcid", "label": "ORCID"}]
    people.admin.patch(f"/challenges/{slug}", json={"registration_fields": fields}).raise_for_status()
    assert blue.post(f"/challenges/{slug}/registrations", json={"team": "Blue"}).status_code == 201
