"""Accounts of a served app and attempts to log in to them, from whatever address."""

import asyncio
from collections import Counter

import httpx

from tests.api.in_process_app import ServedApp
from tests.live_service import MAX_WAIT_SECONDS, PASSWORD

UNREACHED_RATE_LIMIT = "100000/minute"  # limits of rate that no test meets by its requests


def account(running: ServedApp, *names: str) -> None:
    for name in names:
        body = {"email": f"{name}@example.org", "name": name, "password": PASSWORD}
        running.admin().post("/users", json=body).raise_for_status()


def login_body(name: str, password: str = PASSWORD) -> dict[str, str]:
    return {"email": f"{name}@example.org", "password": password}


def attempt_login(
    running: ServedApp, name: str, password: str = PASSWORD, address: str = "192.0.2.1"
) -> httpx.Response:
    return running.caller().post("/tokens", json=login_body(name, password), headers={"X-Forwarded-For": address})


def login_statuses(
    running: ServedApp, count: int, name: str, password: str = PASSWORD, address: str = "192.0.2.1"
) -> list[int]:
    return [attempt_login(running, name, password, address).status_code for _ in range(count)]


def log_in_concurrently(running: ServedApp, bodies: list[dict[str, str]]) -> Counter[int]:
    """How many answers of each status there were to logins that were all sent before one was awaited."""

    async def send() -> list[int]:
        limits = httpx.Limits(max_connections=len(bodies))
        async with httpx.AsyncClient(timeout=MAX_WAIT_SECONDS, limits=limits) as client:
            sent = [client.post(f"{running.url}/api/v1/tokens", json=body) for body in bodies]
            return [answer.status_code for answer in await asyncio.gather(*sent)]

    return Counter(asyncio.run(send()))
