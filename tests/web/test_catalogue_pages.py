"""The catalogue on pages: every metric, search, metric strings, worked examples, and which challenges use a metric."""

import gzip
import re
from urllib.parse import quote

import pytest

from app.scoring.catalogue import worked_examples
from app.scoring.declaration.metric import CATALOGUE
from app.scoring.metrics import FAMILIES
from tests.api.in_process_app import ServedApp
from tests.live_service import PASSWORD, open_challenge
from tests.web.reader import Reader, heading

GOLD = [{"id": "a", "label": "x"}, {"id": "b", "label": "y"}]


def linked(text: str) -> set[str]:
    return set(re.findall(r'href="/catalogue/([a-z0-9_]+)"', text))


def test_the_list_links_every_metric_and_weighs_little(reader: Reader) -> None:
    page = reader.get("/catalogue")
    assert linked(page.text) == set(CATALOGUE)
    assert all(f'id="{family.name}"' in page.text for family in FAMILIES)
    assert len(gzip.compress(page.content)) < 30_000


@pytest.mark.parametrize(
    ("query", "found", "not_found"),
    [
        ("q=f1_macro", "f1_macro", "accuracy"),
        ("q=Dice+coefficient", "f1", "accuracy"),
        ("q=kappa", "cohen_kappa", "f1"),
        ("task=multilabel", "hamming_loss", "auc_ovo_macro"),
        ("q=zzz", None, "f1"),
    ],
)
def test_search_finds_keys_names_and_other_names(reader: Reader, query: str, found: str | None, not_found: str) -> None:
    page = reader.get(f"/catalogue?{query}")
    links = linked(page.text.replace('<a href="/catalogue?q=f1">', ""))
    assert (found in links) if found else not links
    assert not_found not in links
    assert ("No metric has all of these words" in page.text) is (found is None)


@pytest.mark.parametrize("key", ["f1_macro", "roc_curve", "hierarchical_f1", "log_loss", "ndcg_at_k"])
def test_a_metric_has_equation_options_source_and_an_example_counted_by_hand(reader: Reader, key: str) -> None:
    page = reader.get(f"/catalogue/{key}")
    metric = CATALOGUE[key]
    assert heading(page) == metric.name
    assert "<math" in page.text
    assert all(f"<dt><code>{name}</code>" in page.text for name in metric.options)
    assert all(f"<dt><code>{param.name}</code>" in page.text for param in metric.params)
    if metric.scalar:
        assert worked_examples.format_example_value(metric) in page.text
    begin = page.text.index("<caption>Data</caption>")
    rows = re.findall(r'<th scope="row">', page.text[begin : page.text.index("</table>", begin)])
    assert len(rows) == len(metric.example.gold)


def test_a_metric_string_fills_in_its_values(reader: Reader) -> None:
    page = reader.get(f"/catalogue/{quote('f_beta_macro:beta=0.5,zero_division=1', safe='')}")
    assert page.status_code == 200
    assert "here 0.5" in page.text
    assert re.search(r'<dt><code>1</code></dt><dd>[^<]* <span class="tag">here</span>', page.text)
    assert 'href="/catalogue/f_beta_macro"' in page.text


def test_other_tools_and_other_averages_are_named(reader: Reader) -> None:
    page = reader.get("/catalogue/f1_macro")
    assert "scikit-learn" in page.text
    assert {"f1", "f1_micro", "f1_weighted"} <= linked(page.text)


def test_a_metric_names_the_challenges_that_use_it_and_that_the_reader_sees(app: ServedApp, reader: Reader) -> None:
    admin = app.admin()
    recipe = {"primary": "mcc", "metrics": ["accuracy"]}
    open_challenge(admin, "uses-mcc", GOLD, title="Uses it", recipe=recipe)
    open_challenge(admin, "hides-mcc", GOLD, title="Hides it", recipe=recipe, visibility="private")
    draft = {"slug": "draft-mcc", "title": "Drafts it", "task": "multiclass", "recipe": recipe, "draft": True}
    admin.post("/challenges", json=draft).raise_for_status()
    page = reader.get("/catalogue/mcc")
    assert 'href="/challenges/uses-mcc"' in page.text
    assert "Hides it" not in page.text
    assert "Drafts it" not in page.text
    assert "uses-mcc" not in reader.get("/catalogue/f1_micro").text
    person = {"email": "user@example.org", "name": "u", "password": PASSWORD}
    admin.post("/users", json=person).raise_for_status()
    for slug in ("hides-mcc", "draft-mcc"):
        body = {"email": person["email"], "role": "viewer"}
        admin.post(f"/challenges/{slug}/organizers", json=body).raise_for_status()
    own = reader.log_in(person["email"]).get("/catalogue/mcc").text
    assert "Hides it" in own
    assert "Drafts it" in own


def test_an_unknown_metric_and_a_wrong_value_are_explained(reader: Reader) -> None:
    unknown = reader.get("/catalogue/f1_macr")
    assert unknown.status_code == 404
    assert "did you mean f1_macro" in unknown.text
    wrong = reader.get("/catalogue/f1_macro:zero_division=7")
    assert wrong.status_code == 422
    assert "must be one of worst, 0, 1, skip, error" in wrong.text
    assert "GET /api" not in wrong.text
