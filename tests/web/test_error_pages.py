"""Error pages: what is wrong and what to do in words for people, and nothing about what is hidden."""

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import app as package
from app.errors import AssayError
from app.web.remedies import DETAILS, FIELD, OF_PROGRAMS, REMEDIES, detail_of, remedy_of
from tests.api.in_process_app import app_settings, serve_app
from tests.error_classes import error_classes
from tests.web.reader import Reader, heading

OF_OPERATORS = {"schema_behind", "not_a_backup", "folder_not_shared", "not_shared"}
"""Errors that only commands of the operator raise."""


def test_no_page_speaks_of_methods_headers_or_tokens() -> None:
    for module in pkgutil.walk_packages(package.__path__, "app."):
        if module.name.startswith(("app.api", "app.web", "app.actions")):
            importlib.import_module(module.name)
    for kind in error_classes():
        if kind.code in OF_OPERATORS or kind.code == "renamed":
            continue
        error = kind()
        assert not OF_PROGRAMS.search(remedy_of(error)), (kind.code, remedy_of(error))
        assert not FIELD.search(remedy_of(error)), (kind.code, remedy_of(error))
        assert not re.search(r"Authorization|POST|token=", remedy_of(error)), kind.code
        assert not OF_PROGRAMS.search(detail_of(error)), (kind.code, detail_of(error))


def test_every_declared_remedy_belongs_to_an_error() -> None:
    codes = {kind.code for kind in error_classes()}
    assert set(REMEDIES) | set(DETAILS) <= codes


def test_the_remedy_of_the_moment_comes_before_the_general_one() -> None:
    own = AssayError(remedy="Its phases are: main, final.")
    assert remedy_of(own) == "Its phases are: main, final."
    assert "/api/" not in remedy_of(AssayError(remedy="GET /api/v1/metrics lists all."))


@pytest.mark.parametrize("path", ["/nowhere", "/challenges/never-was", "/challenges/never-was/leaderboard"])
def test_an_error_page_says_what_to_do_in_the_design_of_the_rest(reader: Reader, path: str) -> None:
    page = reader.get(path)
    assert page.status_code == 404
    assert heading(page) == "Page not found"
    assert "<nav" in page.text
    assert "Check the address" in page.text
    assert f"<code>{page.headers['x-request-id']}</code>" in page.text
    assert f'href="/log-in?next={path}"' in page.text


def test_a_wrong_method_is_a_page_too(reader: Reader) -> None:
    page = reader.client.delete("/catalogue")
    assert page.status_code == 405
    assert heading(page) == "This page cannot do that"


def test_a_part_of_a_page_is_not_replaced_by_the_log_in_page(reader: Reader) -> None:
    assert reader.get("/account").status_code == 303
    assert reader.get("/account", headers={"HX-Request": "true"}).status_code == 401


def test_an_error_page_counts_as_one_request(tmp_path: Path) -> None:
    with serve_app(app_settings(tmp_path / "data", rate_limits="4/day")) as app:
        reader = Reader(app.url)
        answers = [reader.get("/challenges/never-was").status_code for _ in range(5)]
        reader.close()
    assert answers == [404, 404, 404, 404, 429]


def test_programs_get_problem_documents(reader: Reader) -> None:
    answer = reader.get("/challenges/never-was", headers={"Accept": "application/json"})
    assert answer.json()["code"] == "not_found"


def test_the_operators_links_stand_at_the_foot_of_every_page(tmp_path: Path) -> None:
    links = {"privacy_url": "https://example.org/privacy?a=1&b=2", "imprint_url": "/imprint"}
    with serve_app(app_settings(tmp_path / "data", **links)) as app:
        reader = Reader(app.url)
        for path in ("/", "/nowhere", "/catalogue", "/log-in"):
            foot = reader.get(path).text.partition("<footer>")[2]
            assert '<a href="https://example.org/privacy?a=1&amp;b=2">Privacy</a>' in foot
            assert '<a href="/imprint">Imprint</a>' in foot
        reader.close()


def test_without_them_the_foot_has_no_empty_links(reader: Reader) -> None:
    foot = reader.get("/").text.partition("<footer>")[2]
    assert "Privacy" not in foot
    assert re.findall(r'href="([^"]*)"', foot) == ["/docs", "/catalogue", "/log"]


@pytest.mark.parametrize(
    ("path", "above"),
    [
        ("/log-out", "/"),
        ("/account/password", "/account"),
        ("/challenges/digits/organize/phases/main/gold/1/activate", "/challenges/digits/organize/phases/main/gold"),
    ],
)
def test_the_address_of_a_form_leads_to_the_page_above_it(reader: Reader, path: str, above: str) -> None:
    answer = reader.get(path)
    assert (answer.status_code, answer.headers["location"]) == (303, above)


def test_a_page_that_nobody_has_asks_nobody_to_log_in(reader: Reader) -> None:
    main = reader.get("/nowhere").text.split("<main")[1]
    assert "/log-in" not in main
    assert "/log-in?next=/challenges/never-was" in reader.get("/challenges/never-was").text.split("<main")[1]
