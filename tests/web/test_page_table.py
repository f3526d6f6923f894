"""The table of pages, from which pictures and browser tests are made, names every page."""

from tests.browser.page_table import ALL_VIEWS, NO_PAGES, page_routes, route_of


def test_every_page_has_a_row_in_the_table_of_pages() -> None:
    routes = page_routes()
    shown = {route_of(view.path, routes) for view in ALL_VIEWS}
    assert set(routes) - shown - NO_PAGES.keys() == set()


def test_every_row_of_the_table_has_a_name_of_its_own() -> None:
    names = [view.name for view in ALL_VIEWS]
    assert len(set(names)) == len(names)
