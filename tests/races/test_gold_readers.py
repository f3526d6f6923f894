"""Who may read a gold and who takes part never meet, however both happen at once."""

from functools import partial

import pytest

from tests.races.concurrent_clients import ConcurrentClients, call_concurrently, database_connection

CROWD = ("Gil", "Hal", "Ida", "Jon", "Kim", "Lea")

pytestmark = pytest.mark.parametrize("crowd", ["postgresql"], indirect=True)
"""SQLite has one writer at a time: what could meet there meets on PostgreSQL too."""


def make_copy(crowd: ConcurrentClients, source: str, copy: str) -> None:
    """Mark a challenge as a copy of another one."""
    statement = (
        f"UPDATE challenges SET lineage_id = (SELECT id FROM challenges WHERE slug = '{source}') WHERE slug = '{copy}'"
    )
    with database_connection(crowd) as connection:
        connection.execute(statement)


def test_nobody_registers_for_a_copy_while_becoming_an_organizer_of_its_source(crowd: ConcurrentClients) -> None:
    source, copy = "gold-source", "gold-copy"
    for slug in (source, copy):
        crowd.challenge(slug)
    make_copy(crowd, source, copy)
    calls = []
    for name in CROWD:
        body = {"email": crowd.person(name)[0].email, "role": "viewer"}
        calls += [
            partial(crowd.admin(0).post, f"/challenges/{source}/organizers", json=body),
            partial(crowd.person(name)[-1].post, f"/challenges/{copy}/registrations", json={"team": name}),
        ]
    answers = call_concurrently(calls)
    pairs = [(answers[number].status_code, answers[number + 1].status_code) for number in range(0, len(answers), 2)]
    assert set(pairs) <= {(201, 403), (409, 201)}
    both = crowd.service.rows(
        "SELECT o.user_id FROM organizers o JOIN registrations r ON r.user_id = o.user_id WHERE r.status <> 'ended'"
        f" AND r.challenge_id = (SELECT id FROM challenges WHERE slug = '{copy}')"
        f" AND o.challenge_id = (SELECT id FROM challenges WHERE slug = '{source}')"
    )
    assert both == []
