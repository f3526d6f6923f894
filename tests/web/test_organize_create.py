"""An organizer makes a challenge by forms alone: from a title to a published board with a score."""

import re
from collections.abc import Callable
from typing import Any

import httpx

from tests.api.in_process_app import ServedApp
from tests.live_service import PASSWORD
from tests.web.reader import Reader, destination, heading


def person(name: str) -> dict[str, str]:
    """The body of a request for an account."""
    return {"email": f"{name}@example.org", "name": name, "password": PASSWORD}


def upload(reader: Reader, path: str, action: str, content: bytes, name: str = "gold.csv") -> httpx.Response:
    """Send the form of a page that has a file."""
    token = reader.get(path).text.split('name="csrf" value="')[1].split('"')[0]
    return reader.client.post(
        action,
        data={"csrf": token, "reason": "Checked"},
        files={"file": (name, content)},
        headers={"Origin": reader.url},
    )


def organizer(app: ServedApp, reader: Reader, name: str) -> Reader:
    """A browser of a new account."""
    app.admin().post("/users", json=person(name)).raise_for_status()
    return reader.log_in(f"{name}@example.org")


def test_a_title_is_enough_for_a_draft(app: ServedApp, reader: Reader) -> None:
    organizer(app, reader, "zoe")
    answer = reader.send("/new-challenge", "/new-challenge", title="Käse & Wein 2027")
    assert destination(answer) == ("/challenges/kase-wein-2027/organize/recipe", "challenge_created")
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
    answer = reader.send("/new-challenge", "/new-challenge", title="مسابقة")  # no letter that an address may have
    assert "may have a-z, 0-9 and hyphens" in answer.text
    answer = reader.send("/new-challenge", "/new-challenge", title="Owls", task="binary")
    assert 'id="fault-positive_label"' in answer.text
    assert app.admin().get("/challenges/owls").status_code == 404


def test_the_summary_of_faults_names_fields_as_their_labels_do(app: ServedApp, reader: Reader) -> None:
    organizer(app, reader, "labels")
    fields = {"title": "Digits", "slug": "Not So", "per_day": "many", "opens_at": "soon"}
    text = reader.send("/new-challenge", "/new-challenge", **fields).text
    assert "Address: may have a-z, 0-9 and hyphens" in text
    assert "Submissions per team and day: must be a whole number" in text
    assert "Opens: must be a time such as 2027-03-01 12:00 (local time" in text
    taken = reader.send("/new-challenge", "/new-challenge", title="Digits")  # the address follows from the title
    assert "Address: another challenge has or had this address" in taken.text
    assert 'name="slug" type="text" value="digits"' in taken.text


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
        "merge_deadline": "2090-03-01 12:00",
        "timezone": "Europe/Vienna",
        "reason": "The first draft was empty.",
    }
    preview = reader.send(f"{desk}/settings", f"{desk}/settings", **fields, do="preview")
    assert "<em>sings</em>" in preview.text
    assert app.admin().get("/challenges/birds").json()["description"] == ""
    answer = reader.send(preview, f"{desk}/settings", slug="birdsong")
    assert destination(answer) == ("/challenges/birdsong/organize/settings", "settings_saved")
    made = app.admin().get("/challenges/birdsong").json()
    assert made["description"] == fields["description"]
    assert made["registration_fields"] == [
        {"name": "university_or_company", "label": "University or company", "required": True}
    ]
    assert made["merge_deadline"] == "2090-03-01T11:00:00Z"
    assert "The first draft was empty." in app.admin().get("/challenges/birdsong/audit").text
    desk = "/challenges/birdsong/organize"
    refused = reader.send(f"{desk}/settings", f"{desk}/settings/labels", task="binary")
    assert (refused.status_code, 'id="fault-positive_label-labels"' in refused.text) == (422, True)
    reader.send(refused, f"{desk}/settings")  # the other form of the page keeps what it showed
    assert app.admin().get("/challenges/birdsong").json()["registration_fields"] == made["registration_fields"]
    again = reader.send("/challenges/birdsong/organize/settings", "/challenges/birdsong/organize/settings", contact="")
    assert again.status_code == 303
    made = app.admin().get("/challenges/birdsong").json()
    assert (made["contact"], made["terms_version"], made["merge_deadline"]) == (None, 1, "2090-03-01T11:00:00Z")


def test_questions_at_registration_may_be_in_any_script_and_alike(app: ServedApp, reader: Reader) -> None:
    organizer(app, reader, "uma")
    reader.send("/new-challenge", "/new-challenge", title="Questions")
    path, labels = "/challenges/questions/organize/settings", ["所属", "单位", "Country", "country?"]
    asked = {f"label_{number}": label for number, label in enumerate(labels, 1)}
    assert reader.send(path, path, **asked).status_code == 303
    fields = app.admin().get("/challenges/questions").json()["registration_fields"]
    assert [field["label"] for field in fields] == labels
    assert [field["name"] for field in fields] == ["question", "question_2", "country", "country_2"]
    assert reader.send(path, path, label_1="", label_3="Land").status_code == 303
    fields = app.admin().get("/challenges/questions").json()["registration_fields"]
    assert [field["name"] for field in fields] == ["question_2", "country", "country_2"]


def test_phases_are_added_changed_ordered_paused_and_deleted(app: ServedApp, reader: Reader) -> None:
    organizer(app, reader, "wim")
    reader.send("/new-challenge", "/new-challenge", title="Bees", timezone="Europe/Vienna")
    phases = "/challenges/bees/organize/phases"
    fields = {"name": "Final", "opens_at": "2090-07-01 12:00", "closes_at": "2090-07-08 AoE", "total": "3"}
    answer = reader.send(phases, phases, **fields, leaderboard="after_close", reports=["scores", "per_class"])
    assert destination(answer) == (f"{phases}/final/gold", "phase_added"), answer.text
    final = app.admin().get("/challenges/bees/phases/final").json()
    assert (final["opens_at"], final["closes_at"]) == ("2090-07-01T10:00:00Z", "2090-07-09T12:00:00Z")
    assert (final["quota"]["total"], final["reports"]) == (3, ["scores", "per_class"])
    page = reader.get(f"{phases}/final")
    assert 'value="2090-07-01 12:00"' in page.text
    assert "2090-07-01T10:00:00Z" in page.text
    reader.send(page, f"{phases}/final", anonymous="yes", late="unofficial")
    changed = app.admin().get("/challenges/bees/phases/final").json()
    assert changed == final | {"anonymous": True, "late": "unofficial"}
    refused = reader.send(page, f"{phases}/final", closes_at="2090-06-01 12:00")
    assert (refused.status_code, 'id="fault-closes_at-rules"' in refused.text) == (422, True)
    reader.send(phases, f"{phases}/order", phase="final")
    assert [row["slug"] for row in app.admin().get("/challenges/bees").json()["phases"]] == ["final", "main"]
    reader.send(f"{phases}/main", f"{phases}/main", anonymous="yes")
    refused = reader.send(f"{phases}/main", f"{phases}/main/pause", reason="")
    assert refused.status_code == 422
    reader.send(refused, f"{phases}/main")  # another form of the page keeps what it showed
    kept = app.admin().get("/challenges/bees/phases/main").json()
    assert (kept["anonymous"], kept["reports"]) == (True, ["scores"])
    reader.send(f"{phases}/main", f"{phases}/main/pause", reason="The gold is wrong.")
    assert app.admin().get("/challenges/bees/phases/main").json()["pause_reason"] == "The gold is wrong."
    reader.send(f"{phases}/main", f"{phases}/main/resume")
    assert app.admin().get("/challenges/bees/phases/main").json()["paused_at"] is None
    reader.send(
        f"{phases}/main", f"{phases}/main", own_labels="yes", task="binary", positive_label="bee", classes="bee\nwasp"
    )
    own = reader.get(f"{phases}/main").text
    assert "The phase now has a task of its own." in own
    assert re.search(r'value="binary" checked', own) is not None
    reader.send(f"{phases}/main", f"{phases}/main/delete", reason="Not needed")
    assert app.admin().get("/challenges/bees/phases/main").status_code == 404
    assert reader.send(f"{phases}/final", f"{phases}/final/delete").status_code == 409


def test_a_phase_says_which_labels_it_has_from_its_challenge(app: ServedApp, reader: Reader) -> None:
    organizer(app, reader, "ida")
    reader.send("/new-challenge", "/new-challenge", title="Ants", task="binary", positive_label="ant", classes="")
    phase = "/challenges/ants/organize/phases/main"
    page = " ".join(reader.get(phase).text.split())
    assert "The challenge has the task Binary." in page
    assert "Empty means that of the challenge, ant." in page
    assert "The phase now has the task of the challenge." in page
    assert "the labels that occur in the gold, which are not known yet." in page
    assert upload(reader, f"{phase}/gold", f"{phase}/gold", b"id,label\na,ant\nb,bee\n").status_code == 303
    assert reader.send(f"{phase}/gold", f"{phase}/gold/1/activate").status_code == 200
    assert "The phase now has these classes: ant, bee." in " ".join(reader.get(phase).text.split())
    assert reader.send(phase, phase, own_labels="yes", positive_label="bee").status_code == 303
    own = reader.get(phase)
    assert "The phase now has a positive label of its own." in own.text
    assert 'name="positive_label" type="text" value="bee"' in own.text
    assert reader.send(own, phase, own_labels="yes", positive_label="").status_code == 303
    assert app.admin().get("/challenges/ants/phases/main").json()["positive_label"] == "ant"
    settings = "/challenges/ants/organize/settings"
    many = [f"c{number:02}" for number in range(22)]
    fields = {"task": "multiclass", "positive_label": "", "classes": "\n".join(many), "usual_recipe": "yes"}
    answer = reader.send(settings, f"{settings}/labels", **fields)
    assert answer.status_code == 303, answer.text
    page = " ".join(reader.get(phase).text.split())
    assert f"The challenge declares the classes of all phases: {', '.join(many[:20])} and 2 more." in page


def test_a_refused_form_leaves_the_other_forms_of_its_page_as_they_were(app: ServedApp, reader: Reader) -> None:
    organizer(app, reader, "ursula")
    reader.send("/new-challenge", "/new-challenge", title="Elks")
    settings, phase = (f"/challenges/elks/organize/{path}" for path in ("settings", "phases/main"))
    refused = reader.send(settings, f"{settings}/labels", task="binary", positive_label="", reason="Two kinds")
    assert refused.status_code == 422
    assert 'value="Elks"' in refused.text
    refused = reader.send(settings, settings, title="", reason="No title")
    assert 'href="#field-title-settings"' in refused.text
    assert 'id="fault-title-settings"' in refused.text
    assert re.search(r'value="multiclass" checked', refused.text) is not None
    refused = reader.send(phase, f"{phase}/pause", reason="x" * 2001)
    assert refused.status_code == 422
    assert 'id="fault-reason-pause"' in refused.text
    assert 'id="fault-reason-delete"' not in refused.text
    assert refused.text.count("x" * 2001) == 1
    ids = re.findall(r' id="([^"]+)"', refused.text)
    assert len(ids) == len(set(ids))


def test_from_a_title_to_a_published_board_with_a_score(
    app: ServedApp, reader: Reader, new_reader: Callable[[], Reader]
) -> None:
    organizer(app, reader, "vera")
    reader.send("/new-challenge", "/new-challenge", title="Sounds", task="multiclass")
    page, steps = reader.get("/challenges/sounds/organize/recipe"), []
    while found := re.search(r'<a class="button second" href="([^"]+)">Next: ', page.text):
        steps.append(page.url.path.removeprefix("/challenges/sounds/organize"))
        if steps[-1].endswith("/gold"):
            answer = upload(reader, page.url.path, page.url.path, b"id,label\na,vowel\nb,consonant\n")
            assert answer.status_code == 303, answer.text
            assert reader.send(page.url.path, f"{page.url.path}/1/activate").status_code == 200
        page = reader.get(found[1])
    assert steps == ["/recipe", "/phases/main", "/phases/main/gold", "/settings"]
    assert "Nothing keeps participants from taking part." in page.text
    assert new_reader().get("/challenges/sounds").status_code == 404
    assert reader.send(page, "/challenges/sounds/organize/publish").status_code == 303
    after = reader.get("/challenges/sounds/organize")
    assert "0 teams" in after.text
    assert f'<a href="/challenges/sounds">{app.url}/challenges/sounds</a>' in after.text
    for further in ("organize/phases", "submit?as=test", "submit?as=baseline", "organize/announcements"):
        assert f'<li><a href="/challenges/sounds/{further}">' in after.text
    assert "Publish the challenge" not in after.text
    app.admin().post("/users", json=person("una")).raise_for_status()
    player = app.caller(app.caller().post("/tokens", json=person("una") | {"name": "t"}).json()["token"])
    player.post("/challenges/sounds/registrations", json={"team": "Una"}).raise_for_status()
    file: dict[str, Any] = {
        "content": b"id,label\na,vowel\nb,vowel\n",
        "headers": {"Content-Type": "text/csv", "Prefer": "wait=60"},
    }
    player.post("/challenges/sounds/phases/main/submissions", **file).raise_for_status()
    board = app.caller().get("/challenges/sounds/phases/main/leaderboard").json()
    assert [row["team"]["name"] for row in board["rows"]] == ["Una"]
    assert "1 of them today" in reader.get("/challenges/sounds/organize").text
