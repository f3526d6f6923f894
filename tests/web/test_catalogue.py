"""The pages of the metric catalogue."""

from app.scoring.declaration.metric import CATALOGUE
from tests.api.in_process_app import ServedApp
from tests.live_service import open_challenge
from tests.web.conftest import GOLD
from tests.web.reader import Reader, heading


def test_the_list_has_every_metric(reader: Reader) -> None:
    text = reader.get("/catalogue").text
    assert [key for key in CATALOGUE if f'href="/catalogue/{key}"' not in text] == []


def test_a_search_finds_by_key_name_and_other_names(reader: Reader) -> None:
    found = reader.get("/catalogue?q=Macro+dice").text
    assert 'href="/catalogue/f1_macro"' in found
    assert 'href="/catalogue/accuracy"' not in found
    assert 'href="/catalogue/f1_samples"' not in reader.get("/catalogue?task=binary").text
    assert 'href="/catalogue/f1_macro"' not in reader.get("/catalogue?q=zebra").text


def test_every_metric_has_a_page_with_its_equation(reader: Reader) -> None:
    wrong = []
    for key in CATALOGUE:
        answer = reader.get(f"/catalogue/{key}")
        shown = answer.status_code == 200 and heading(answer)
        if not shown or "<math" not in answer.text or f"<code>{key}</code>" not in answer.text:
            wrong.append(key)
    assert wrong == []


def test_a_page_counts_the_example_and_says_what_each_option_means(reader: Reader) -> None:
    text = reader.get("/catalogue/f1_macro").text
    assert "73/126 = 0.579365" in text
    assert "labels that occur in gold or were predicted" in text
    assert "macro Dice coefficient" in text


def test_a_metric_string_is_explained_with_its_values(reader: Reader) -> None:
    text = reader.get("/catalogue/f_beta_macro:beta=0.5").text
    assert "f_beta_macro:beta=0.5" in text
    assert reader.get("/catalogue/f_beta_macro:beta=zebra").status_code == 422
    assert reader.get("/catalogue/zebra").status_code == 404


def test_a_metric_names_the_challenges_that_the_reader_may_see(app: ServedApp, reader: Reader) -> None:
    recipe = {"primary": "mcc", "metrics": ["mcc", {"key": "f_beta_macro", "params": {"beta": 2}}]}
    open_challenge(app.admin(), "birds", GOLD, recipe=recipe)
    app.admin().patch("/challenges/birds", json={"title": "Birds of a feather"}).raise_for_status()
    assert "Birds of a feather" in reader.get("/catalogue/mcc").text
    assert "Birds of a feather" in reader.get("/catalogue/f_beta_macro").text
    assert "Birds of a feather" not in reader.get("/catalogue/f1_macro").text
    app.admin().patch("/challenges/birds", json={"visibility": "private"}).raise_for_status()
    assert "Birds of a feather" not in reader.get("/catalogue/mcc").text
