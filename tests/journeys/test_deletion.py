"""Deletion of challenges: by owners while nothing was submitted, then by an administrator who repeats the slug."""

import json

from sqlalchemy import select

from app.store.tables import AuditEntry, Base, Challenge
from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    GOLD,
    People,
    create_challenge,
    create_without_gold,
    require_finished,
    require_refused,
    write_session_of,
)
from tests.live_service import Caller


def make_owner(people: People, slug: str) -> Caller:
    owner = people["Olga"]
    body = {"email": owner.email, "role": "owner"}
    assert people.admin.post(f"/challenges/{slug}/organizers", json=body).status_code == 201
    return owner


def test_an_owner_deletes_a_published_challenge_until_somebody_submits(people: People) -> None:
    slug = create_challenge(people.admin, "unused")
    owner = make_owner(people, slug)
    before = set((people.live.data_dir / "files" / "uploads").iterdir())
    params = {"name": "train.csv", "licence": "CC0"}
    people.admin.post(f"/challenges/{slug}/files", params=params, content=b"x").raise_for_status()
    people["Blue"].join(slug, "Blue")
    require_finished(owner.submit(slug, CORRECT_PREDICTIONS, test="true"))
    require_refused(owner.delete(f"/challenges/{slug}", params={"confirm": "other"}), 400, "bad_request")
    assert owner.delete(f"/challenges/{slug}").status_code == 204
    require_refused(people.admin.get(f"/challenges/{slug}"), 404, "not_found")
    left = set((people.live.data_dir / "files" / "uploads").iterdir())
    assert left < before  # the gold and the test entry are gone too
    assert create_challenge(people.admin, "unused") != slug
    again = people.admin.post(
        "/challenges",
        json={
            "slug": slug,
            "title": "T",
            "task": "multiclass",
            "recipe": {"primary": "accuracy", "metrics": ["accuracy"]},
        },
    )
    assert again.status_code == 201


def test_after_a_submission_only_an_administrator_who_repeats_the_slug_deletes(people: People) -> None:
    slug = create_challenge(people.admin, "used")
    owner, blue = make_owner(people, slug), people["Blue"].join(slug, "Blue")
    sent = require_finished(blue.submit(slug, CORRECT_PREDICTIONS))
    people.admin.post(f"/challenges/{slug}/archive").raise_for_status()
    require_refused(owner.delete(f"/challenges/{slug}"), 409, "challenge_in_use")
    require_refused(owner.delete(f"/challenges/{slug}", params={"confirm": slug}), 409, "challenge_in_use")
    require_refused(people.admin.delete(f"/challenges/{slug}"), 409, "challenge_in_use")
    wrong = people.admin.delete(f"/challenges/{slug}", params={"confirm": slug.upper()})
    require_refused(wrong, 400, "bad_request")
    assert blue.get(f"/submissions/{sent['id']}").status_code == 200
    assert people.admin.delete(f"/challenges/{slug}", params={"confirm": slug}).status_code == 204
    for who in (people.visitor, blue, people.admin):
        require_refused(who.board(slug), 404, "not_found")
    require_refused(blue.get(f"/submissions/{sent['id']}"), 404, "not_found")


def test_nothing_of_a_deleted_challenge_is_left_but_the_audit_trail(people: People) -> None:
    slug = create_challenge(people.admin, "traces", terms="Be fair.", timezone="UTC")
    for name in ("Blue", "Green"):
        answer = people[name].post(f"/challenges/{slug}/registrations", json={"team": name, "terms": 1})
        assert answer.status_code == 201, answer.text
        require_finished(people[name].submit(slug, CORRECT_PREDICTIONS))
    blue, green = (
        {each["name"]: each["id"] for each in people.admin.get(f"/challenges/{slug}/teams").json()["items"]}[name]
        for name in ("Blue", "Green")
    )
    people["Blue"].post(f"/challenges/{slug}/teams/{blue}/merge", json={"with": "Green"}).raise_for_status()
    people["Green"].post(f"/challenges/{slug}/teams/{green}/merge", json={"with": "Blue"}).raise_for_status()
    people.admin.post(f"/challenges/{slug}/announcements", json={"title": "News"}).raise_for_status()
    people.admin.post(f"/challenges/{slug}/invitations", json={}).raise_for_status()
    people.admin.patch(f"/challenges/{slug}/phases/main", json={"name": "Other"}).raise_for_status()
    people.admin.patch(f"/challenges/{slug}", json={"slug": f"{slug}-new"}).raise_for_status()
    with write_session_of(people.live) as session:
        challenge_id = session.scalars(select(Challenge.id).where(Challenge.slug == f"{slug}-new")).one()
    params = {"confirm": f"{slug}-new", "reason": "Personal data in the files"}
    gone = people.admin.delete(f"/challenges/{slug}-new", params=params)
    assert gone.status_code == 204, gone.text
    with write_session_of(people.live) as session:
        for table in Base.metadata.sorted_tables:
            if "challenge_id" in table.c and table.name not in {"audit_entries", "log_records"}:
                rows = session.execute(select(table).where(table.c.challenge_id == challenge_id)).all()
                assert rows == [], table.name
        entries = session.scalars(
            select(AuditEntry).where(AuditEntry.challenge_id == challenge_id).order_by(AuditEntry.id)
        ).all()
        assert entries[0].action == "challenge.create"
        assert (entries[-1].action, entries[-1].object_name) == ("challenge.delete", f"{slug}-new")
        assert entries[-1].reason == "Personal data in the files"
        assert "News" in json.dumps([each.changes for each in entries])


def test_a_draft_with_entries_is_still_its_owners(people: People) -> None:
    slug = create_challenge(people.admin, "draft-entries", GOLD, draft=True)
    owner = make_owner(people, slug)
    require_finished(owner.submit(slug, CORRECT_PREDICTIONS, team="Majority", baseline="true"))
    assert owner.delete(f"/challenges/{slug}").status_code == 204


def test_the_slugs_of_a_deleted_challenge_that_people_knew_are_never_given_again(people: People) -> None:
    slug = create_challenge(people.admin, "known")
    blue = people["Blue"].join(slug, "Blue")
    require_finished(blue.submit(slug, CORRECT_PREDICTIONS))
    people.admin.patch(f"/challenges/{slug}", json={"slug": f"{slug}-new"}).raise_for_status()
    assert people.admin.delete(f"/challenges/{slug}-new", params={"confirm": f"{slug}-new"}).status_code == 204
    body = {"title": "T", "task": "multiclass", "recipe": {"primary": "accuracy", "metrics": ["accuracy"]}}
    for former in (slug, f"{slug}-new"):
        require_refused(people.admin.post("/challenges", json=body | {"slug": former}), 409, "slug_taken")
        require_refused(people.visitor.get(f"/challenges/{former}", follow_redirects=False), 404, "not_found")


def test_the_former_slug_of_a_deleted_phase_stays_taken_and_its_own_is_free(people: People) -> None:
    slug = create_without_gold(people.admin, "known-phase")
    phases = f"/challenges/{slug}/phases"
    people.admin.post(phases, json={"name": "First"}).raise_for_status()
    people.admin.patch(f"{phases}/first", json={"name": "Second"}).raise_for_status()
    assert people.admin.delete(f"{phases}/second").status_code == 204
    require_refused(people.admin.post(phases, json={"name": "First"}), 409, "phase_name_taken")
    assert people.admin.post(phases, json={"name": "Second"}).status_code == 201
