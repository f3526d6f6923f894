"""An organizer makes a challenge by forms alone: from a title to a published board with a score."""

from tests.api.in_process_app import ServedApp
from tests.live_service import PASSWORD
from tests.web.reader import Reader, heading


def organizer(app: ServedApp, reader: Reader, name: str) -> Reader:
    """A browser of a new account."""
    email = f"{name}@example.org"
    assert app.admin().post("/users", json={"email": email, "name": name, "password": PASSWORD}).status_code == 201
    return reader.log_in(email)


def test_a_title_is_enough_for_a_draft(app: ServedApp, reader: Reader) -> None:
    organizer(app, reader, "zoe")
    answer = reader.send("/new-challenge", "/new-challenge", title="Käse & Wein 2027")
    assert (answer.status_code, answer.headers["location"]) == (
        303,
        "/challenges/kase-wein-2027/organize/recipe?done=challenge_created",
    )
    made = app.admin().get("/challenges/kase-wein-2027").json()
    assert (made["status"], made["title"], made["recipe"]["primary"]) == ("draft", "Käse & Wein 2027", "f1_macro")
    assert made["phases"][0]["quota"] == {"per_day": 5, "total": None, "concurrent": None, "invalid_per_day": 20}


def test_faults_of_a_new_challenge_stand_beside_their_fields(app: ServedApp, reader: Reader) -> None:
    organizer(app, reader, "yan")
    fields = {"title": "Owls", "task": "binary", "closes_at": "tomorrow", "per_day": "many"}
    answer = reader.send("/new-challenge", "/new-challenge", **fields)
    assert answer.status_code == 422
    assert heading(answer) == "New challenge"
    for name in ("closes_at", "per_day"):
        assert f'id="fault-{name}"' in answer.text
    answer = reader.send("/new-challenge", "/new-challenge", **fields | {"closes_at": "2001-01-01", "per_day": "1"})
    assert 'id="fault-closes_at"' in answer.text
    answer = reader.send("/new-challenge", "/new-challenge", title="Owls", task="binary")
    assert 'id="fault-positive_label"' in answer.text
    assert app.admin().get("/challenges/owls").status_code == 404


def test_settings_change_what_the_api_says(app: ServedApp, reader: Reader) -> None:
    organizer(app, reader, "xia")
    reader.send("/new-challenge", "/new-challenge", title="Birds", slug="birds")
    desk = "/challenges/birds/organize"
    fields = {
        "description": "# Birds\n\nWhich bird *sings*?",
        "contact": "xia@example.org",
        "terms": "Be fair.",
        "label_1": "University or company",
        "required_1": "yes",
        "merge_deadline": "2027-03-01 12:00",
        "timezone": "Europe/Vienna",
        "reason": "The first draft was empty.",
    }
    preview = reader.send(f"{desk}/settings", f"{desk}/settings", **fields, do="preview")
    assert "<em>sings</em>" in preview.text
    assert app.admin().get("/challenges/birds").json()["description"] == ""
    answer = reader.send(preview, f"{desk}/settings", slug="birdsong")
    assert answer.headers["location"] == "/challenges/birdsong/organize/settings?done=settings_saved"
    made = app.admin().get("/challenges/birdsong").json()
    assert made["description"] == fields["description"]
    assert made["registration_fields"] == [
        {"name": "university_or_company", "label": "University or company", "required": True}
    ]
    assert made["merge_deadline"] == "2027-03-01T11:00:00Z"
    assert "The first draft was empty." in app.admin().get("/challenges/birdsong/audit").text
    again = reader.send("/challenges/birdsong/organize/settings", "/challenges/birdsong/organize/settings", contact="")
    assert again.status_code == 303
    made = app.admin().get("/challenges/birdsong").json()
    assert (made["contact"], made["terms_version"], made["merge_deadline"]) == (None, 1, "2027-03-01T11:00:00Z")
