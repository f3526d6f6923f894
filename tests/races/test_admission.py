"""What changes while a body arrives counts when it is stored, although admission was checked before the body was read."""

import json
import socket
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.live_service import MAX_WAIT_SECONDS, Caller
from tests.races.concurrent_clients import CORRECT_PREDICTIONS, ConcurrentClients

BODY = json.dumps(CORRECT_PREDICTIONS).encode()
ADMITTED = b"HTTP/1.1 100 Continue\r\n\r\n"
CLOSED = {"opens_at": "2020-01-01T00:00:00Z", "closes_at": "2020-01-02T00:00:00Z"}


def post_around(
    caller: Caller, address: str, meanwhile: Callable[[], None], **headers: str
) -> tuple[int, dict[str, Any]]:
    """Post predictions whose body is sent after `meanwhile`, which is called once the service has asked for the body.

    A service asks for it (RFC 9110, section 10.1.1) when it begins to read it. Returns the status and the reply.
    """
    url = urlsplit(str(caller.base_url))
    sent = {"Host": url.netloc, "Content-Length": str(len(BODY)), "Content-Type": "application/json"}
    sent |= {
        "Expect": "100-continue",
        "Connection": "close",
        "Authorization": caller.headers["authorization"],
    } | headers
    lines = [f"POST {url.path.rstrip('/')}{address} HTTP/1.1", *(f"{name}: {value}" for name, value in sent.items())]
    address_of_api = (str(url.hostname), int(url.port or 0))
    with socket.create_connection(address_of_api, MAX_WAIT_SECONDS) as connection, connection.makefile("rb") as reply:
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        first = reply.readline() + reply.readline()
        assert first == ADMITTED, first
        meanwhile()
        connection.sendall(BODY)
        status = int(reply.readline().split()[1])
        text = reply.read().partition(b"\r\n\r\n")[2]
    return status, json.loads(text)


@pytest.mark.parametrize("change", ["close", "bar", "hide"])
def test_a_close_or_bar_while_a_body_arrives_refuses_it(crowd: ConcurrentClients, change: str) -> None:
    slug = f"meanwhile-{change}"
    address = crowd.challenge(slug, opens_at=CLOSED["opens_at"])
    blue, files = crowd.member(slug), crowd.stored()
    (registration,) = crowd.admin().get(f"/challenges/{slug}/registrations").json()["items"]

    def end() -> None:
        if change == "close":
            answer = crowd.admin(1).patch(address.removesuffix("/submissions"), json=CLOSED)
            answer.raise_for_status()
            return
        barred = {"status": "barred", "reason": "a test"}
        answer = crowd.admin(1).patch(f"/challenges/{slug}/registrations/{registration['id']}", json=barred)
        answer.raise_for_status()
        if change == "hide":
            crowd.admin(1).patch(f"/challenges/{slug}", json={"visibility": "private"}).raise_for_status()

    status, body = post_around(blue[0], address, end)
    expected = {"close": (409, "no_open_phase"), "bar": (403, "registration_barred"), "hide": (404, "not_found")}
    assert (status, body["code"]) == expected[change], body
    assert crowd.count("submissions", slug) == 0
    assert crowd.stored() == files


def test_a_recipe_that_replaces_another_while_a_body_arrives_scores_it(crowd: ConcurrentClients) -> None:
    address = crowd.challenge("meanwhile-recipe")
    blue = crowd.member("meanwhile-recipe")

    def replace() -> None:
        recipe = {"primary": "mcc", "metrics": ["mcc"]}
        crowd.admin(1).put("/challenges/meanwhile-recipe/recipe", json=recipe).raise_for_status()

    status, body = post_around(blue[0], address, replace, Prefer="wait=60")
    assert status == 201, body
    assert (body["recipe_version"], set(body["scores"])) == (2, {"mcc"})


def test_a_quota_that_is_used_up_while_a_body_arrives_refuses_it(crowd: ConcurrentClients) -> None:
    address = crowd.challenge("meanwhile-quota", quota={"total": 1})
    blue = crowd.member("meanwhile-quota")

    def use_up() -> None:
        assert blue[-1].post(address, json=CORRECT_PREDICTIONS).status_code == 202

    status, body = post_around(blue[0], address, use_up)
    assert (status, body["code"], body["quota"]) == (429, "quota_exceeded", "total")
    assert crowd.ledger("meanwhile-quota")["reserve"] == 1


def test_a_key_that_is_stored_while_a_body_arrives_returns_its_submission(crowd: ConcurrentClients) -> None:
    """At two replicas; one refuses a key that it is handling."""
    address = crowd.challenge("meanwhile-key")
    blue, other_replica = crowd.member("meanwhile-key"), len(crowd.service.api_urls()) > 1
    key = {"Idempotency-Key": "meanwhile"}
    ids: list[str] = []

    def send() -> None:
        answer = blue[-1].post(address, json=CORRECT_PREDICTIONS, headers=key)
        assert answer.status_code == (202 if other_replica else 409), answer.text
        ids.append(answer.json().get("id"))

    status, body = post_around(blue[0], address, send, **key)
    assert status == (422 if other_replica else 202), body  # bytes that differ, by a space for each colon
    assert crowd.count("submissions", "meanwhile-key") == 1
