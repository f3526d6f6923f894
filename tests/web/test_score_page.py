"""The page of a score: its counts as the report of the API has them, to those who may read it."""

import gzip
import re
from typing import Any  # noqa: F401

from tests.api.in_process_app import ServedApp
from tests.web.people import Person
from tests.web.reader import heading
from tests.web.test_submission_page import GOLD, REPORTS, ada, open_new, organizer, sent

__all__ = ["ada", "organizer"]
RECIPE = {
    "primary": "f1_macro",
    "metrics": ["f1_macro", "f1_micro", "accuracy", "recall:label=dog", "f1_micro:exclude_labels=fox", "auc_ovr_macro",
                "ece", "log_loss", "mcc", "f1_weighted"],
}  # fmt: skip


def words(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def test_each_score_of_a_submission_leads_to_its_counts(app: ServedApp, ada: Person) -> None:
    slug = open_new(app, *REPORTS, recipe=RECIPE)
    ada.api.join(slug, "Blue <&>")
    key = sent(ada, slug)
    page = ada.browser.get(f"/submissions/{key}")
    links = dict(re.findall(rf'<a href="(/submissions/{key}/scores/[^"]+)">([^<]+)<', page.text))
    assert len(links) == len(RECIPE["metrics"])
    report = ada.api.get(f"/submissions/{key}/report").json()["per_class"]
    right = sum(row["tp"] for row in report.values())
    assert links[f"/submissions/{key}/scores/accuracy"] == f"{right} of {len(GOLD)} right"
    assert links[f"/submissions/{key}/scores/f1_macro"] == "3 classes"
    assert links[f"/submissions/{key}/scores/ece"] == "15 bins"
    assert links[f"/submissions/{key}/scores/log_loss"] == "Details"
    scores = ada.api.get(f"/submissions/{key}").json()["scores"]
    for address in links:
        answer = ada.browser.get(address)
        assert answer.status_code == 200, address
        metric = next(name for name in scores if address.endswith(name.replace("|", "%7C")))
        assert f"<b>{scores[metric]['value']!r}</b>" in answer.text
        assert "<math" in answer.text
        assert " style=" not in answer.text
        assert len(gzip.compress(answer.text.encode())) < 100_000
    found = ada.browser.get(f"/submissions/{key}/scores/accuracy").text
    assert f"right <b>{right}</b>" in found
    assert f"<mn>{right}</mn>" in found
    assert "The confusion matrix" in found
    dog = report["dog"]
    one = ada.browser.get(f"/submissions/{key}/scores/recall:label=dog")
    assert heading(one) == "recall"
    assert one.text.count('<th scope="row">') == 1
    assert f'<th scope="row">dog</th><td class="num">{dog["support"]}</td>' in one.text
