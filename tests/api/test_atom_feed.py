"""The feed of announcements names the public address of the service."""

from datetime import UTC, datetime
from xml.etree import ElementTree as ET

import pytest

from app.api.atom_feed import atom_feed
from app.store.tables import Challenge


@pytest.mark.parametrize("public_url", ["https://assay.example", "https://assay.example/"])
def test_addresses_are_absolute_below_the_public_address(public_url: str) -> None:
    challenge = Challenge(id="0" * 32, slug="pets", title="Pets", created_at=datetime(2027, 1, 31, tzinfo=UTC))
    root = ET.fromstring(atom_feed(challenge, [], public_url))
    links = [link.get("href") for link in root.findall("{http://www.w3.org/2005/Atom}link")]
    path = "https://assay.example/api/v1/challenges/pets/announcements"
    assert links == [f"{path}.atom", path]
