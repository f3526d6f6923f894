"""The catalogue over HTTP: a metric by its key, or as a metric string has it."""

from urllib.parse import quote

from tests.api.served import Served


def test_a_metric_string_fills_in_the_equation(app: Served) -> None:
    who = app.caller()
    general = who.get("/metrics/f_beta_macro").json()
    asked = who.get(f"/metrics/{quote('f_beta_macro:label_set=gold,beta=0.50', safe='')}").json()
    assert (general["key"], general["metric"]) == ("f_beta_macro", "f_beta_macro")
    assert (asked["key"], asked["metric"]) == ("f_beta_macro:beta=0.5,label_set=gold", "f_beta_macro")
    assert general.keys() == asked.keys()
    assert r"\beta" in general["equation"]["latex"]
    assert asked["equation"]["latex"].startswith(r"\frac{1}{|L|}\sum_{j\in L} \frac{1.25")
    assert asked["symbols"]["L"] == "the labels that enter the average"
    assert [param["value"] for param in asked["params"]] == ["0.5"]
    assert "label_set=gold: labels that occur in gold." in asked["conventions"]


def test_a_label_may_hold_any_sign(app: Served) -> None:
    text = "f1:label=" + quote("a/b, c<d>", safe="")
    found = app.caller().get(f"/metrics/{quote(text, safe='')}")
    assert found.status_code == 200
    assert found.json()["key"] == "f1:label=a/b%2C c<d>"
    assert "<d>" not in found.json()["equation"]["mathml"]


def test_an_unknown_key_is_absent_and_a_wrong_parameter_invalid(app: Served) -> None:
    who = app.caller()
    absent = who.get("/metrics/macro_f1:label_set=gold")
    assert (absent.status_code, absent.json()["code"]) == (404, "not_found")
    assert "f1_macro" in absent.json()["detail"]
    for wrong in ("f_beta_macro:beta=x", "f_beta_macro:", "f1_macro:label_set=gould", "f_beta:label=a"):
        answer = who.get(f"/metrics/{wrong}")
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_metric"), wrong


def test_the_list_shows_the_same_fields_as_one_metric(app: Served) -> None:
    who = app.caller()
    listed = who.get("/metrics", params={"limit": 3}).json()["items"]
    assert listed == [who.get(f"/metrics/{one['key']}").json() for one in listed]


def test_another_name_of_a_measure_leads_to_it(app: Served) -> None:
    who = app.caller()
    assert who.get("/metrics/threat_score_macro").json() == who.get("/metrics/jaccard_macro").json()
    narrowed = who.get(f"/metrics/{quote('threat_score_macro:label_set=gold', safe='')}").json()
    assert narrowed["key"] == "jaccard_macro:label_set=gold"
