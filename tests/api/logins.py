"""Accounts of a served app and attempts to log in to them, from whatever address."""

import asyncio
from collections import Counter

import httpx

from tests.api.served import Served
from tests.live import LONG, PASSWORD

ON = "100000/minute"  # limits of rate that no test meets by its requests


def account(running: Served, *names: str) -> None:
    for name in names:
        body = {"email": f"{name}@example.org", "name": name, "password": PASSWORD}
        running.admin().post("/users", json=body).raise_for_status()


def words(name: str, password: str = PASSWORD) -> dict[str, str]:
    return {"email": f"{name}@example.org", "password": password}


def attempt(running: Served, name: str, password: str = PASSWORD, address: str = "192.0.2.1") -> httpx.Response:
    return running.caller().post("/tokens", json=words(name, password), headers={"X-Forwarded-For": address})


def statuses(running: Served, count: int, name: str, password: str = PASSWORD, address: str = "192.0.2.1") -> list[int]:
    return [attempt(running, name, password, address).status_code for _ in range(count)]


def at_once(running: Served, bodies: list[dict[str, str]]) -> Counter[int]:
    """How many answers of each status there were to logins that were all sent before one was awaited."""

    async def send() -> list[int]:
        limits = httpx.Limits(max_connections=len(bodies))
        async with httpx.AsyncClient(timeout=LONG, limits=limits) as client:
            sent = [client.post(f"{running.url}/api/v1/tokens", json=body) for body in bodies]
            return [answer.status_code for answer in await asyncio.gather(*sent)]

    return Counter(asyncio.run(send()))
