"""The page of a submission: status, scores, report, problems and acts, to each reader what the API gives them."""

import gzip
import json
import re
from itertools import count
from typing import Any

import pytest
from sqlalchemy import insert, select

from app.api.live.change_hub import submission_topic
from app.api.live.change_stream import SETTLING_SECONDS
from app.formats.excerpts import MAX_DOCUMENT_BYTES, TOO_LONG
from app.store.tables import Submission
from app.store.types import new_id
from tests.api.in_process_app import ServedApp
from tests.live_service import eventually, open_challenge
from tests.web.people import NewReader, Person, new_person
from tests.web.reader import csrf_of, destination, heading
from tests.web.test_live_leaderboard import following, stream_path

CLASSES = ["cat", "dog", "fox"]
GOLD = [{"id": f"t{at}", "label": CLASSES[at % 3]} for at in range(30)]
REPORTS = ["scores", "per_class", "confusion", "curves"]
NUMBERS = count(1)


def predicted(at: int) -> str:
    return CLASSES[0 if at % 7 == 1 else at % 3]


SCORED = [
    {"id": f"t{at}", "scores": {name: 0.8 if name == predicted(at) else 0.1 for name in CLASSES}} for at in range(30)
]


def open_new(app: ServedApp, *reports: str, gold: Any = GOLD, recipe: Any = None, **phase: Any) -> str:
    slug = f"page-{next(NUMBERS)}"
    fields = {} if recipe is None else {"recipe": recipe}
    phases = [{"name": "main", "reports": list(reports or ["scores"]), **phase}]
    open_challenge(app.admin(), slug, gold, phases=phases, **fields)
    return slug


@pytest.fixture
def ada(app: ServedApp, new_reader: NewReader) -> Person:
    return new_person(app, new_reader, "ada")


@pytest.fixture
def organizer(app: ServedApp, new_reader: NewReader) -> Person:
    return new_person(app, new_reader, "olga", admin=True)


def sent(who: Person, slug: str, predictions: Any = SCORED, **query: Any) -> str:
    answer = who.api.submit(slug, predictions, **query)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def test_the_page_says_why_it_shows_no_lines_of_a_huge_document(app: ServedApp, ada: Person) -> None:
    slug = open_new(app)
    ada.api.join(slug, "Huge")
    content = json.dumps([{"id": "t1", "label": "zebra"}]).encode() + b" " * MAX_DOCUMENT_BYTES
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip", "Prefer": "wait=60"}
    path = f"/challenges/{slug}/phases/main/submissions"
    answer = ada.api.post(path, content=gzip.compress(content), headers=headers)
    assert answer.json()["status"] == "rejected"
    shown = ada.browser.get(f"/submissions/{answer.json()['id']}").text
    assert TOO_LONG in shown
    found = ada.api.get(f"/submissions/{answer.json()['id']}/problems").json()
    assert (found["left_out"], found["problems"][0]["excerpt"]) == (TOO_LONG, None)
    file = ("huge.json.gz", gzip.compress(content), "application/json")
    page = ada.browser.get(f"/challenges/{slug}/submit")
    data = {"csrf": csrf_of(page), "method": "m"}
    action = f"/challenges/{slug}/submit?phase=main&check=true"
    checked = ada.browser.client.post(action, data=data, files={"file": file}, headers={"Origin": ada.browser.url})
    assert TOO_LONG in checked.text


def test_a_finished_submission_shows_scores_equations_classes_confusion_and_curves(app: ServedApp, ada: Person) -> None:
    slug = open_new(app, *REPORTS)
    ada.api.join(slug, "Blue <&>")
    key = sent(ada, slug, method="Forest <b>")
    answer = ada.browser.get(f"/submissions/{key}")
    assert answer.status_code == 200, answer.text
    page = answer.text
    assert heading(answer) == "Forest &lt;b&gt;"
    scores = ada.api.get(f"/submissions/{key}").json()["scores"]
    assert f"<b>{scores['f1_macro']['value']!r}</b>" in page
    assert "<math" in page
    assert "Confusion matrix" in page
    assert "<b>dog</b> taken for <b>cat</b>: 2" in page
    assert page.count('class="series series-') == 2 * 6  # three classes in two drawings, each with its key
    assert 'class="point"' in page
    report = ada.api.get(f"/submissions/{key}/report").json()
    assert f'<td class="num">{report["per_class"]["dog"]["recall"]:.4f}</td>' in page
    assert len(gzip.compress(page.encode())) < 100_000
    assert " style=" not in page
    whole = ada.browser.get(f"/submissions/{key}/report")
    assert whole.json()["per_class"] == report["per_class"]
    file = ada.browser.get(f"/submissions/{key}/file")
    assert file.content == ada.api.get(f"/submissions/{key}/predictions").content


def test_the_page_shows_a_role_what_the_api_shows_it(
    app: ServedApp, ada: Person, organizer: Person, new_reader: NewReader
) -> None:
    slug = open_new(app, "scores")
    ada.api.join(slug, "Blue")
    key = sent(ada, slug)
    own, organizers = (who.browser.get(f"/submissions/{key}").text for who in (ada, organizer))
    assert "Where it errs" not in own
    assert "Where it errs" in organizers
    assert "Disqualify" in organizers
    assert "Disqualify" not in own
    stranger = new_person(app, new_reader, "eve")
    for address in ("", "/confusion", "/report", "/file", "/changes"):
        answer = stranger.browser.get(f"/submissions/{key}{address}")
        assert answer.status_code == 404, address
        assert new_reader().get(f"/submissions/{key}{address}").headers["location"].startswith("/log-in?next=")
    assert stranger.browser.get("/submissions/none").status_code == 404


def test_scores_that_the_phase_hides_are_not_on_the_page(app: ServedApp, ada: Person) -> None:
    slug = open_new(app, "per_class")
    ada.api.join(slug, "Blue")
    key = sent(ada, slug)
    assert ada.api.get(f"/submissions/{key}").json()["scores"] == {}
    page = ada.browser.get(f"/submissions/{key}").text
    assert "This phase does not show scores" in page
    assert "<math" not in page


def test_a_private_split_is_for_organizers_until_the_release(app: ServedApp, ada: Person, organizer: Person) -> None:
    gold = [row | {"split": "public" if at < 10 else "private"} for at, row in enumerate(GOLD)]
    slug = open_new(app, "scores", "confusion", gold=gold)
    ada.api.join(slug, "Blue")
    key = sent(ada, slug)
    assert "Private split" not in ada.browser.get(f"/submissions/{key}").text
    page = organizer.browser.get(f"/submissions/{key}?split=private").text
    assert {"Private split", "Public split", "All instances"} <= set(re.findall(r'class="score">([^<]+)</th>', page))
    refused = ada.browser.get(f"/submissions/{key}?split=private")
    assert "split" in refused.text
    assert "taken for" not in refused.text


def test_a_rejected_file_lists_its_problems_with_its_lines(app: ServedApp, ada: Person, organizer: Person) -> None:
    slug = open_new(app)
    ada.api.join(slug, "Blue")
    body = "id,label\nt0,cat\nt1,dgo\nt1,cat\n"
    answer = ada.api.post(
        f"/challenges/{slug}/phases/main/submissions",
        content=body,
        headers={"Content-Type": "text/csv", "Prefer": "wait=60"},
    )
    problems = answer.json()["problems"]
    page = ada.browser.get(f"/submissions/{answer.json()['id']}").text
    assert "Rejected" in page
    assert "line 3" in page
    assert "unknown_label" in page
    assert '<code class="line">t1,dgo</code>' in page
    by_organizer = organizer.browser.get(f"/submissions/{answer.json()['id']}").text
    assert "t1,dgo" not in by_organizer  # the lines of a team's file are a download, which would be recorded
    trail = organizer.api.get(f"/challenges/{slug}/audit").json()["items"]
    assert "submission.download" not in {entry["action"] for entry in trail}
    missing = {problem["instance_id"] for problem in problems if problem["code"] == "missing_instances"}
    rows = re.findall(r'<th scope="row">\s*(?:line|whole|not in)', page)
    assert len(rows) == len(problems) - len(missing) + 1  # ids without a prediction share a row
    assert f"There is no prediction for {len(missing)} ids." in page
    assert missing <= set(re.findall(r"<code>(\w+)</code>", page.partition(f"Show {len(missing)} ids")[2]))


def test_a_team_selects_and_withdraws_and_an_organizer_disqualifies_and_reinstates(
    app: ServedApp, ada: Person, organizer: Person
) -> None:
    recipe = {"primary": "accuracy", "metrics": ["accuracy"], "selection": "selected", "selection_max": 1}
    slug = open_new(app, recipe=recipe)
    ada.api.join(slug, "Blue")
    key, other = sent(ada, slug), sent(ada, slug)
    path = f"/submissions/{key}"

    def state() -> dict[str, Any]:
        found: dict[str, Any] = ada.api.get(path).json()
        return found

    answer = ada.browser.send(path, f"{path}/select")
    assert destination(answer) == (f"{path}", "selected")
    assert state()["selected"]
    refused = ada.browser.send(f"/submissions/{other}", f"/submissions/{other}/select")
    assert refused.status_code == 409
    assert "There is a problem" in refused.text
    listed = ada.browser.send(path, f"{path}/unselect", back="list")
    assert listed.headers["location"].endswith("/submissions?phase=main")
    assert not state()["selected"]
    no_reason = organizer.browser.send(path, f"{path}/disqualify", reason="")
    assert (no_reason.status_code, state()["disqualified_at"]) == (422, None)
    assert organizer.browser.send(path, f"{path}/disqualify", reason="A <copy>.").status_code == 303
    assert "A &lt;copy&gt;." in ada.browser.get(path).text
    assert organizer.browser.send(path, f"{path}/reinstate").status_code == 303
    assert ada.browser.send(path, f"{path}/withdraw", reason="A bug.").status_code == 303
    assert state()["withdrawn_reason"] == "A bug."
    assert "withdrawn" in ada.browser.get(path).text
    assert organizer.browser.send(path, f"{path}/rerun").status_code == 303


def test_no_act_without_the_token_of_the_session(app: ServedApp, ada: Person) -> None:
    slug = open_new(app)
    ada.api.join(slug, "Blue")
    key = sent(ada, slug)
    for token in ("", "wrong"):
        answer = ada.browser.client.post(f"/submissions/{key}/withdraw", data={"csrf": token})
        assert answer.status_code == 403
    opened = ada.browser.get(f"/submissions/{key}/withdraw")
    assert (opened.status_code, opened.headers["location"]) == (303, f"/submissions/{key}")
    assert ada.api.get(f"/submissions/{key}").json()["withdrawn_at"] is None


def test_a_test_entry_is_deleted_by_its_organizer(app: ServedApp, organizer: Person) -> None:
    slug = open_new(app)
    key = sent(organizer, slug, test=True)
    page = organizer.browser.get(f"/submissions/{key}")
    assert "test entry" in page.text
    assert organizer.browser.send(page, f"/submissions/{key}/delete").status_code == 303
    assert organizer.api.get(f"/submissions/{key}").status_code == 404


@pytest.mark.parametrize("size", [3, 40])
def test_the_confusion_page_sorts_classes_and_lists_the_most_confused_pairs(
    app: ServedApp, ada: Person, size: int
) -> None:
    names = [f"c{at:02}" for at in range(size)]
    gold = [{"id": f"t{at}", "label": names[at % size]} for at in range(4 * size)]
    slug = open_new(app, *REPORTS, gold=gold)
    ada.api.join(slug, "Blue")
    wrong = {row["id"]: names[1] if row["label"] == names[2] else row["label"] for row in gold}
    key = sent(ada, slug, wrong)
    for order in ("declared", "name", "frequency", "errors"):
        page = ada.browser.get(f"/submissions/{key}/confusion?order={order}").text
        assert '<tr><th scope="row">c02</th><td>c01</td><td class="num">4</td><td class="num">100.0 %</td></tr>' in page
        assert ('class="cell-text' in page) == (size <= 30)
        assert f"columns are predicted classes. {size} cells are not 0.<" in page
    assert page.index("<title>Confusion matrix</title>") < page.index(">c01<") < page.index(">c00<")
    assert ada.browser.get(f"/submissions/{key}/confusion?order=other").status_code == 400


@pytest.mark.parametrize("is_of_phase", [False, True])
def test_a_team_chooses_its_finals_in_the_list_of_its_submissions(
    app: ServedApp, ada: Person, new_reader: NewReader, *, is_of_phase: bool
) -> None:
    recipe = {"primary": "accuracy", "metrics": ["accuracy"], "selection": "selected", "selection_max": 2}
    slug = open_new(app, recipe=None if is_of_phase else recipe, quota={"total": 5})
    if is_of_phase:
        app.admin().put(f"/challenges/{slug}/recipe", params={"phase": "main"}, json=recipe).raise_for_status()
    path = f"/challenges/{slug}/submissions"
    ada.api.join(slug, "Blue")
    assert "Nothing was sent" in ada.browser.get(path).text
    first, second = sent(ada, slug, method="Forest <b>"), sent(ada, slug)
    rival = new_person(app, new_reader, "eve")
    rival.api.join(slug, "Red")
    foreign = sent(rival, slug)
    page = ada.browser.get(path)
    assert heading(page) == "My submissions"
    assert {f"/submissions/{first}", f"/submissions/{second}"} <= set(
        re.findall(r'href="(/submissions/[^"]+)"', page.text)
    )
    assert foreign not in page.text
    assert "Forest &lt;b&gt;" in page.text
    assert "0 submissions are selected of at most 2." in " ".join(page.text.split())
    answer = ada.browser.send(page, f"/submissions/{first}/select")
    assert destination(answer) == (f"{path}?phase=main", "selected")
    page = ada.browser.get(path)
    assert "1 submission is selected of at most 2." in " ".join(page.text.split())
    quota = ada.api.get(f"/challenges/{slug}/phases/main/quota").json()
    assert f'<td class="num">{quota["remaining"]["total"]}</td>' in page.text
    assert page.text.count("<td>charged</td>") == sum(entry["kind"] == "charge" for entry in quota["ledger"]) > 0
    assert ada.browser.get(f"{path}?phase=none").status_code == 404
    assert new_reader().get(path).headers["location"].startswith("/log-in?next=")


BETTER = {row["id"]: row["label"] for row in GOLD}
WORSE = BETTER | {"t0": "dog"}


def told(who: Person, slug: str) -> dict[str, bool | None]:
    """Which submissions count, as the list of the API says."""
    items = who.api.get(f"/challenges/{slug}/phases/main/submissions").json()["items"]
    return {row["id"]: row["counts"] for row in items}


CHOICES = {"best": [True, False], "latest": [False, True], "selected": [True, False]}


@pytest.mark.parametrize(
    ("rule", "board"), [("best", "public"), ("best", "hidden"), ("latest", "hidden"), ("selected", "public")]
)
def test_the_list_says_which_submission_counts_now(app: ServedApp, ada: Person, rule: str, board: str) -> None:
    slug = open_new(app, recipe={"primary": "accuracy", "metrics": ["accuracy"], "selection": rule}, leaderboard=board)
    path = f"/challenges/{slug}/submissions"
    ada.api.join(slug, "Blue")
    keys = [sent(ada, slug, file, method=name) for file, name in ((BETTER, "better"), (WORSE, "worse"))]

    def counting() -> list[bool]:
        listed = {key: counts is True for key, counts in told(ada, slug).items()}
        page = " ".join(ada.browser.get(path).text.split())
        assert page.count("counts now</span>") == sum(listed.values())
        for key, name in zip(keys, ("better", "worse"), strict=True):
            assert (f"Counts now: <b>{name}</b>" in page) == listed[key]
        shown = app.admin().get(f"/challenges/{slug}/phases/main/leaderboard").json()["rows"]
        ranked = {row["submission"] for row in shown if row["rank"] is not None}
        assert ranked == {key for key in keys if listed[key]}
        return [listed[key] for key in keys]

    assert counting() == CHOICES[rule]
    if rule == "selected":
        ada.api.post(f"/submissions/{keys[1]}/select").raise_for_status()
        assert counting() == [False, True]
    ada.api.post(f"/submissions/{keys[counting().index(True)]}/withdraw").raise_for_status()
    assert sum(counting()) == 1
    team = ada.api.get(f"/submissions/{keys[0]}").json()["team"]["id"]
    app.admin().post(f"/challenges/{slug}/teams/{team}/disqualify", json={"reason": "two teams"}).raise_for_status()
    assert sum(counting()) == 0
    assert "No submission counts now." in ada.browser.get(path).text


@pytest.mark.parametrize("rule", ["best", "latest"])
def test_a_list_without_scores_does_not_say_which_value_is_greater(
    app: ServedApp, ada: Person, organizer: Person, rule: str
) -> None:
    slug = open_new(app, "per_class", recipe={"primary": "accuracy", "metrics": ["accuracy"], "selection": rule})
    ada.api.join(slug, "Blue")
    keys = [sent(ada, slug, BETTER), sent(ada, slug, WORSE)]
    page = ada.browser.get(f"/challenges/{slug}/submissions").text
    is_told = rule == "latest"
    assert told(ada, slug) == dict(zip(keys, [False, True] if is_told else [None, None], strict=True))
    assert told(organizer, slug) == dict(zip(keys, [not is_told, is_told], strict=True))
    assert page.count("counts now</span>") == is_told
    assert ("Which one counts now is not shown" in page) != is_told


def test_the_choice_is_found_however_many_were_sent_since(app: ServedApp, ada: Person) -> None:
    recipe = {"primary": "accuracy", "metrics": ["accuracy"], "selection": "selected"}
    slug = open_new(app, recipe=recipe)
    ada.api.join(slug, "Blue")
    key = sent(ada, slug, method="The oldest")
    ada.api.post(f"/submissions/{key}/select").raise_for_status()
    with app.app.state.service.db.write() as session:
        row = session.execute(select(Submission.__table__).where(Submission.id == key)).mappings().one()
        copies = [{**row, "id": new_id(), "selected_at": None} for _ in range(4100)]
        session.execute(insert(Submission), copies)
    path = f"/challenges/{slug}/phases/main/submissions?limit=200&mark=selected"
    assert [each["id"] for each in ada.api.get(path).json()["items"]] == [key]
    page = ada.browser.get(f"/challenges/{slug}/submissions").text
    assert "1 submission is selected." in page
    assert f'<a href="/submissions/{key}">The oldest</a>' in page
    assert f'Counts now: <a href="/submissions/{key}">The oldest</a>' in page


def test_an_organizer_without_a_team_goes_to_the_list_of_all(app: ServedApp, organizer: Person) -> None:
    slug = open_new(app)
    answer = organizer.browser.get(f"/challenges/{slug}/submissions")
    assert answer.headers["location"] == f"/challenges/{slug}/organize/submissions"


def test_the_primary_metric_is_that_of_the_phase(app: ServedApp, ada: Person) -> None:
    slug = open_new(app, recipe={"primary": "mcc", "metrics": ["accuracy", "mcc"]})
    ada.api.join(slug, "Blue")
    key = sent(ada, slug)
    page = ada.browser.get(f"/submissions/{key}").text
    assert page.count(">primary</span>") == 1
    assert ">primary</span>" in page.partition('href="/catalogue/mcc"')[2]
    own = open_new(app, recipe={"primary": "mcc", "metrics": ["mcc"]}, name="main")
    app.admin().put(
        f"/challenges/{own}/recipe?phase=main", json={"primary": "accuracy", "metrics": ["accuracy", "mcc"]}
    ).raise_for_status()
    ada.api.join(own, "Blue")
    sent(ada, own)
    assert ">accuracy</th>" in ada.browser.get(f"/challenges/{own}/submissions").text


def test_the_stream_of_a_page_says_nothing_of_other_submissions(app: ServedApp, ada: Person) -> None:
    slug, hub = open_new(app, "scores"), app.app.state.service.changes
    ada.api.join(slug, "Blue")
    other, waiting = sent(ada, slug), sent(ada, slug)
    topic = submission_topic(waiting)
    with app.app.state.service.db.write() as session:
        session.get_one(Submission, waiting).status = "queued"
    eventually(lambda: not hub.latest([topic]).is_recent(SETTLING_SECONDS), "the change of the submission has settled")
    hub.publish([submission_topic(other)])
    page = ada.browser.get(f"/submissions/{waiting}")
    with following(ada.browser, stream_path(page)) as stream:
        assert "event" not in stream.next()
    hub.publish([topic])
    with following(ada.browser, stream_path(page)) as stream:
        assert stream.next()["event"] == "changed"
