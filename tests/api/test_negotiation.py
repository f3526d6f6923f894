"""Which encoding a reader is sent, by what it says."""

import pytest

from app.api.http.negotiation import matches_etag, prefers_gzip


@pytest.mark.parametrize(
    "header",
    ["gzip", "GZip", "x-gzip", "gzip, deflate, br", "*", "gzip;q=0.5", "br;q=1, gzip; q=0.1", "gzip;q=1.0, identity;q=0.5",
     "identity;q=0", "*;q=0.2", "identity;q=0, *;q=0.3", "gzip;q=0, gzip", " gzip ; q=1.000 "],
)  # fmt: skip
def test_who_ranks_gzip_no_lower_than_plain_bytes_is_sent_it(header: str) -> None:
    assert prefers_gzip(header) is (header != "identity;q=0")


@pytest.mark.parametrize(
    "header",
    ["", ",", ";", "br", "identity", "gzip;q=0", "gzip;q=0.0", "gzip;q=0, *", "*;q=0", "identity, gzip;q=0.9",
     "*;q=0.5, gzip;q=0.3", "gzip;q=x", "gzip;q=", "gzip;q=-1", "gzip;q=2", "gzip;q=0.٣", "gzipped", "gzip q=1"],
)  # fmt: skip
def test_others_are_sent_plain_bytes(header: str) -> None:
    assert not prefers_gzip(header)


@pytest.mark.parametrize("header", ['"a"', 'W/"a"', '"b", "a"', '"b",W/"a"', "*", ' "a" '])
def test_who_has_the_bytes_says_so(header: str) -> None:
    assert matches_etag(header, '"a"')


@pytest.mark.parametrize("header", [None, "", '"b"', "a", '"A"', 'w/"a"'])
def test_who_has_others_does_not(header: str | None) -> None:
    assert not matches_etag(header, '"a"')
