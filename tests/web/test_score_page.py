"""The page of a score: its counts as the report of the API has them, to those who may read it; and the links to it."""

import gzip
import random
import re
import secrets
from html import unescape
from typing import Any

import pytest

from app.web import submission_view
from app.web.board_query import BoardQuery
from app.web.board_table import make_table
from app.web.rendering import environment
from app.web.score_address import score_path
from tests.api.in_process_app import ServedApp
from tests.web.people import NewReader, Person, new_person
from tests.web.reader import heading
from tests.web.test_submission_page import GOLD, REPORTS, ada, open_new, organizer, sent

__all__ = ["ada", "organizer"]
METRICS = [
    "f1_macro", "f1_micro", "precision_micro", "recall_macro", "f1_weighted", "accuracy", "mcc", "recall:label=dog",
    "f1_micro:exclude_labels=fox", "auc_ovr_macro", "ece", "log_loss",
]  # fmt: skip
RECIPE = {"primary": "f1_macro", "metrics": METRICS}
SPLIT_GOLD = [row | {"split": "public" if at < 10 else "private"} for at, row in enumerate(GOLD)]


def score_links(page: str, key: str) -> dict[str, str]:
    """The texts of the links to scores by the end of their addresses."""
    found = re.findall(rf'<a href="/submissions/{key}/scores/([^"]+)"[^>]*>([^<]+)<', page)
    return {unescape(address): unescape(text) for address, text in found}


def test_each_score_of_a_submission_leads_to_its_counts(app: ServedApp, ada: Person) -> None:
    slug = open_new(app, *REPORTS, recipe=RECIPE)
    ada.api.join(slug, "Blue <&>")
    key = sent(ada, slug)
    found = score_links(ada.browser.get(f"/submissions/{key}").text, key)
    report = ada.api.get(f"/submissions/{key}/report").json()["per_class"]
    right = sum(row["tp"] for row in report.values())
    assert found["accuracy"] == f"{right} of {len(GOLD)} right"
    assert (found["f1_macro"], found["ece"], found["log_loss"]) == ("3 classes", "15 bins", "Details")
    scores = ada.api.get(f"/submissions/{key}").json()["scores"]
    assert len(found) == len(scores) == len(METRICS)
    for metric in scores:
        answer = ada.browser.get(score_path(key, metric))
        assert answer.status_code == 200, metric
        assert f"<b>{scores[metric]['value']!r}</b>" in answer.text
        assert "<math" in answer.text
        assert " style=" not in answer.text
        confirmed = "gives the score:" in answer.text or "add up to is the score" in answer.text
        assert confirmed == (metric not in {"mcc", "auc_ovr_macro", "ece", "log_loss"}), metric
    page = ada.browser.get(score_path(key, "accuracy")).text
    assert f"right <b>{right}</b>" in page
    assert f"<mn>{right}</mn>" in page
    assert f'href="/submissions/{key}/confusion"' in page
    one = ada.browser.get(score_path(key, "recall:label=dog"))
    assert heading(one) == "recall"
    assert f'<th scope="row">dog</th><td class="num">{report["dog"]["support"]}</td>' in one.text
    assert one.text.count('<th scope="row">') == 1
    by_errors = ada.browser.get(f"{score_path(key, 'f1_macro')}?order=errors").text
    rows = re.findall(r'<th scope="row">(\w+)<', by_errors)
    assert rows == sorted(report, key=lambda name: -(report[name]["fp"] + report[name]["fn"]))


def test_a_metric_is_found_by_any_way_to_write_it_and_no_other_is(app: ServedApp, ada: Person) -> None:
    gold = [row | {"label": f"{row['label']}/a|b"} for row in GOLD]
    label = "dog/a%7Cb"
    recipe = {"primary": f"f1:label={label}", "metrics": [f"f1:label={label}", "f1_macro"]}
    slug = open_new(app, *REPORTS, gold=gold, recipe=recipe)
    ada.api.join(slug, "Blue")
    key = sent(ada, slug, {row["id"]: row["label"] for row in gold})
    for address in score_links(ada.browser.get(f"/submissions/{key}").text, key):
        assert ada.browser.get(f"/submissions/{key}/scores/{address}").status_code == 200, address
    assert ada.browser.get(f"/submissions/{key}/scores/f1_macro:label_set=declared").status_code == 200
    for other in ("mcc", "nothing", "f1_macro:x=y", "f1_macro:label_set=gold"):
        assert ada.browser.get(f"/submissions/{key}/scores/{other}").status_code == 404, other


@pytest.mark.parametrize(
    ("reports", "sentence"),
    [
        (["scores"], "This phase shows its participants scores alone, so no counts are shown."),
        (["scores", "confusion"], "This phase does not show its participants the counts of classes."),
        (["per_class"], "This phase does not show scores to participants."),
    ],
)
def test_a_phase_that_shows_less_says_so_and_organizers_see_all(
    app: ServedApp, ada: Person, organizer: Person, reports: list[str], sentence: str
) -> None:
    slug = open_new(app, *reports)
    ada.api.join(slug, "Blue")
    key = sent(ada, slug)
    value = organizer.api.get(f"/submissions/{key}").json()["scores"]["accuracy"]["value"]
    path = score_path(key, "accuracy")
    own, organizers = (" ".join(who.browser.get(path).text.split()) for who in (ada, organizer))
    assert sentence in own
    assert "<math" in own
    assert '"num">True positives' not in own
    assert "right <b>" not in own
    assert "right <b>" in organizers
    assert (f"<b>{value:.6g}</b>" in own) == ("scores" in reports)
    assert len(score_links(ada.browser.get(f"/submissions/{key}").text, key)) == (2 if "scores" in reports else 0)
    board = ada.browser.get(f"/challenges/{slug}/leaderboard").text
    assert len(score_links(board, key)) == (2 if "scores" in reports else 0)


def test_only_readers_of_a_submission_see_its_scores(
    app: ServedApp, ada: Person, organizer: Person, new_reader: NewReader
) -> None:
    slug = open_new(app, *REPORTS, gold=SPLIT_GOLD)
    ada.api.join(slug, "Blue")
    key = sent(ada, slug)
    path = score_path(key, "accuracy")
    stranger = new_person(app, new_reader, "eve")
    assert stranger.browser.get(path).status_code == 404
    assert new_reader().get(path).headers["location"].startswith("/log-in?next=")
    assert ada.browser.get(f"{path}?split=private").status_code == 403
    for split in ("public", "private", "all"):
        page = organizer.browser.get(f"{path}?split={split}").text
        report = organizer.api.get(f"/submissions/{key}/report?split={split}").json()["per_class"]
        assert f"right <b>{sum(row['tp'] for row in report.values())}</b>" in page
    assert "instances <b>10</b>" in ada.browser.get(path).text
    shown = score_links(organizer.browser.get(f"/submissions/{key}?split=private").text, key)
    assert shown["accuracy?split=private"].endswith(" of 20 right")


def test_the_file_of_an_organizer_is_not_counted_for_the_team(app: ServedApp, ada: Person, organizer: Person) -> None:
    slug = open_new(app, *REPORTS)
    ada.api.join(slug, "Blue")
    key = sent(organizer, slug, team="Blue")
    page = ada.browser.get(score_path(key, "accuracy")).text
    assert "only organizers may read its report" in page
    assert "right <b>" not in page
    assert set(score_links(ada.browser.get(f"/submissions/{key}").text, key).values()) == {"Details"}


def test_weighted_counts_are_called_sums_of_weights(app: ServedApp, ada: Person) -> None:
    slug = open_new(app, *REPORTS, gold=[row | {"weight": 0.5 * (1 + at % 2)} for at, row in enumerate(GOLD)])
    ada.api.join(slug, "Blue")
    key = sent(ada, slug)
    assert ada.api.get(f"/submissions/{key}/report").json()["weighted"] is True
    page = ada.browser.get(score_path(key, "accuracy")).text
    assert "all counts here are sums of weights" in page
    assert "instances <b>22.5</b>" in page
    assert "gives the score" in page
    assert score_links(ada.browser.get(f"/submissions/{key}").text, key)["accuracy"].endswith(
        " of 22.5 right, by weight"
    )


def test_a_submission_without_scores_has_equations_alone(app: ServedApp, ada: Person) -> None:
    slug = open_new(app, *REPORTS)
    ada.api.join(slug, "Blue")
    key = ada.api.submit(slug, {"t0": "no class"}).json()["id"]
    page = ada.browser.get(score_path(key, "accuracy")).text
    assert "The submission has no scores." in page
    assert "<math" in page


def test_a_report_that_takes_long_is_shown_by_the_same_address(
    app: ServedApp, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    slug = open_new(app, *REPORTS)
    ada.api.join(slug, "Blue")
    path = f"{score_path(sent(ada, slug), 'accuracy')}?split=all&order=name"
    with monkeypatch.context() as patched:
        patched.setattr(submission_view, "REPORT_WAIT_SECONDS", 0.0)
        waiting = ada.browser.get(path)
    (address,) = re.findall(r'The report is being made. <a href="([^"]+)">Show it</a>', waiting.text)
    assert unescape(address) == path
    assert "right of" not in waiting.text
    assert ada.browser.get(unescape(address)).status_code == 200


def test_the_board_leads_to_the_counts_of_rows_that_the_reader_may_read(
    app: ServedApp, ada: Person, organizer: Person, new_reader: NewReader
) -> None:
    slug = open_new(app, *REPORTS, gold=SPLIT_GOLD)
    rival = new_person(app, new_reader, "eve")
    ada.api.join(slug, "Blue")
    rival.api.join(slug, "Red")
    key, other = sent(ada, slug), sent(rival, slug)
    path = f"/challenges/{slug}/leaderboard"
    own = ada.browser.get(path).text
    assert set(score_links(own, key)) == {"f1_macro", "accuracy"}
    assert score_links(own, other) == {}
    assert "An underlined value leads to the counts behind it." in own
    text = score_links(own, key)["accuracy"]
    assert f'aria-label="{text}, accuracy: counts">{text}</a>' in own
    for each in (key, other):
        assert set(score_links(organizer.browser.get(path).text, each)) == {"f1_macro", "accuracy"}
        private = score_links(organizer.browser.get(f"{path}?split=private").text, each)
        assert set(private) == {"f1_macro?split=private", "accuracy?split=private"}
    for page in (new_reader().get(path), new_reader().get(f"{path}/embed"), ada.browser.get(f"{path}/embed")):
        assert page.status_code == 200
        assert "/scores/" not in page.text
        assert "is a link" not in page.text


def test_a_page_of_a_board_with_links_stays_light() -> None:
    keys = [f"{measure}_{kind}" for measure in ("f1", "recall", "precision", "jaccard", "npv") for kind in
            ("macro", "micro", "weighted", "lfb_test")]  # fmt: skip
    drawn = random.Random(1)

    def row(place: int) -> dict[str, Any]:
        scores = {key: {"value": drawn.random()} for key in keys}
        ranks = {
            "rank": place,
            "rank_low": place,
            "rank_high": place,
            "tie_group": place,
            "tied": 1,
            "public_rank": None,
        }
        team = {"id": secrets.token_hex(16), "name": f"Team {secrets.token_hex(4)}"}
        marks: dict[str, Any] = {"baseline": False, "mark": None, "on_behalf": False}
        sent_at = {"method": f"method {place}", "entries": place, "submitted_at": "2026-11-12T12:00:00Z"}
        return {**ranks, "team": team, "submission": secrets.token_hex(16), "scores": scores, **marks, **sent_at}

    metrics = [{"key": key, "name": key.replace("_", " "), "direction": "higher"} for key in keys]
    board = {"rows": [*map(row, range(1, 201))], "total": 200, "metrics": metrics, "primary": keys[0]}
    board |= {"significance": {"status": "current"}, "selection": {"rule": "latest", "max": None}, "split": "all"}
    table = make_table(board, "x", BoardQuery(), may_read=lambda _: True, own_team=None, has_counts=True)
    html: str = environment().get_template("board_table.html").module.rows(table, True, "Board")  # type: ignore[attr-defined]
    assert html.count("/scores/") == 200 * 20
    assert len(gzip.compress(html.encode(), compresslevel=6)) < 85_000
