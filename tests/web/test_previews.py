"""The canonical address and the metadata for previews: on pages of challenges that everybody may read, on no others."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.in_process_app import ServedApp, app_settings, serve_app
from tests.live_service import open_challenge
from tests.web.conftest import GOLD
from tests.web.page_routes import FILLS, page_addresses
from tests.web.people import new_account
from tests.web.reader import Reader

PUBLIC_URL = "http://localhost:8000"
METADATA = re.compile(r'rel="canonical"|property="og:|<meta name="(?:description|twitter)')
SLUG = FILLS["slug"]
STREAM = "/changes"


@pytest.fixture
def site(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[ServedApp]:
    """A service whose public address is set, with one challenge that all page addresses name."""
    settings = app_settings(tmp_path_factory.mktemp("previews") / "data", public_url=PUBLIC_URL)
    with serve_app(settings) as app:
        rules: dict[str, Any] = request.param
        open_challenge(app.admin(), SLUG, GOLD, description="Tell apart. Then more.", **rules)
        yield app


def new_reader(site: ServedApp, name: str | None) -> Reader:
    """A browser that came by the public address, logged in if there is a name."""
    reader = Reader(site.url)
    reader.url = PUBLIC_URL
    if name is not None:
        email = new_account(site, name)
        role = {"email": email, "role": "owner"}
        if name == "olga":
            site.admin().post(f"/challenges/{SLUG}/organizers", json=role).raise_for_status()
        reader.log_in(email)
    return reader


def addresses(site: ServedApp) -> list[str]:
    found = [each for each in page_addresses(site, "GET") if each.startswith(f"/challenges/{SLUG}")]
    assert len(found) > 20
    return [each for each in found if not each.endswith(STREAM)]


@pytest.mark.parametrize("site", [{"visibility": "private"}, {"draft": True}], indirect=True, ids=["private", "draft"])
def test_pages_of_a_challenge_that_not_everybody_sees_have_no_metadata(site: ServedApp) -> None:
    olga, visitor, stranger = new_reader(site, "olga"), new_reader(site, None), new_reader(site, "eve")
    assert olga.get(f"/challenges/{SLUG}/leaderboard").status_code == 200
    assert 'name="robots" content="noindex"' in olga.get(f"/challenges/{SLUG}").text
    for reader in (olga, visitor, stranger):
        for address in addresses(site):
            assert METADATA.search(reader.get(address).text) is None, address
        reader.close()


@pytest.mark.parametrize("site", [{"visibility": "private"}], indirect=True)
def test_whom_a_code_shows_a_private_challenge_gets_no_metadata(site: ServedApp) -> None:
    code = site.admin().post(f"/challenges/{SLUG}/invitations", json={}).json()["code"]
    guest = new_reader(site, "guest")
    guest.send("/invitation", "/invitation", code=code)
    for address in addresses(site):
        assert METADATA.search(guest.get(address).text) is None, address
    assert "Take part" in guest.get(f"/challenges/{SLUG}/register").text
    guest.close()


@pytest.mark.parametrize("site", [{}], indirect=True)
def test_a_public_challenge_and_its_board_name_their_public_address_to_everybody(site: ServedApp) -> None:
    path = f"/challenges/{SLUG}"
    for name in (None, "eve", "olga"):
        reader = new_reader(site, name)
        for address, canonical in ((path, path), (f"{path}/leaderboard?q=Blue", f"{path}/leaderboard?phase=main")):
            page = reader.get(address).text
            assert f'<link rel="canonical" href="{PUBLIC_URL}{canonical}">' in page
            assert f'<meta property="og:url" content="{PUBLIC_URL}{canonical}">' in page
            for kind in ("title", "description"):
                assert re.search(f'<meta property="og:{kind}" content="[^"]+">', page)
        for address in addresses(site):
            if address.partition("?")[0] not in {path, f"{path}/leaderboard"}:
                assert METADATA.search(reader.get(address).text) is None, address
        reader.close()


@pytest.mark.parametrize("site", [{"phases": [{"name": "main", "leaderboard": "hidden"}]}], indirect=True)
def test_a_board_that_visitors_do_not_see_has_no_metadata(site: ServedApp) -> None:
    for name in (None, "olga"):
        reader = new_reader(site, name)
        assert METADATA.search(reader.get(f"/challenges/{SLUG}/leaderboard").text) is None
        assert METADATA.search(reader.get(f"/challenges/{SLUG}").text) is not None
        reader.close()
