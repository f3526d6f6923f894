"""What the Tab key completes: slugs, phases, teams, versions and ids, as the service lists them for this user.

The shell asks for them through typer (`assay --install-completion`). A service that is away or slow completes nothing.
Shells evaluate what they are offered, and participants choose names: a word must be one that no shell splits or
changes, and its description has no special characters.
"""

import shlex
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import typer

from app.cli.connection import resolve_url_and_token
from app.cli.terminal.output import CommandError

if TYPE_CHECKING:
    from app.client import Client, Json

Offer = tuple[str, str]
"""A word to complete, and what it is; some shells show that beside it."""

MAX_OFFERS = 200
STEP_SECONDS = 2.0
SEARCH_SECONDS = 4.0  # for ids of submissions, which are looked up in several challenges
_SPECIAL = frozenset("\\$`\"'![]")
"""Characters that no description keeps: zsh evaluates it, typer escapes `$` but not after a backslash, and reads markup."""


def _completed_by(list_offers: Callable[["Client", dict[str, Any]], Iterable[Offer]]) -> Callable[..., list[Offer]]:
    """The function that typer calls, from one that lists offers for the parameters given so far."""

    def complete(ctx: typer.Context, incomplete: str) -> list[Offer]:
        from app.client import Client, ClientError

        given = dict(ctx.params)
        if given.get("slug") is None:
            # where an option lacks its value, the parser leaves all arguments here
            given["slug"] = ctx.args[0] if ctx.args else ""
        with suppress(CommandError, ClientError):
            address, token = resolve_url_and_token(given.get("url"), given.get("token"))
            with Client(address, token, timeout=STEP_SECONDS, retries=0) as client:
                offers = ((word, _harmless(about)) for word, about in list_offers(client, given) if _is_one_word(word))
                return list(islice((offer for offer in offers if offer[0].startswith(incomplete)), MAX_OFFERS))
        return []

    return complete


def _is_one_word(text: str) -> bool:
    return shlex.quote(text) == text


def _harmless(about: str) -> str:
    return "".join(char for char in about if char.isprintable() and char not in _SPECIAL)


def _challenges(client: "Client", _: dict[str, Any]) -> Iterator[Offer]:
    return ((each["slug"], each["title"]) for each in client.list_challenges())


def _archived_challenges(client: "Client", _: dict[str, Any]) -> Iterator[Offer]:
    return ((each["slug"], each["title"]) for each in client.list_challenges(archived=True))


def _announcements(client: "Client", given: dict[str, Any]) -> Iterator[Offer]:
    return ((each["id"], each["title"]) for each in client.announcements(given["slug"]))


def _files(client: "Client", given: dict[str, Any]) -> Iterator[Offer]:
    return ((each["name"], each["licence"]) for each in client.files(given["slug"]))


def _organizers(client: "Client", given: dict[str, Any]) -> Iterator[Offer]:
    return ((each["email"], each["role"]) for each in client.organizers(given["slug"]))


def _phases(client: "Client", given: dict[str, Any]) -> Iterator[Offer]:
    return ((each["slug"], each["name"]) for each in client.challenge(given["slug"])["phases"])


def _gold_versions(client: "Client", given: dict[str, Any]) -> Iterator[Offer]:
    slug = given["slug"]
    versions = client.gold_versions(slug, client.phase(slug, given.get("phase")))
    return ((str(each["version"]), each["status"]) for each in versions)


def _teams(client: "Client", given: dict[str, Any]) -> Iterator[Offer]:
    """The name of each team, or its id if the shell would split the name."""
    for team in client.teams(given["slug"]):
        name = team["name"]
        yield (name, team["id"]) if _is_one_word(name) else (team["id"], name)


def _registrations(client: "Client", given: dict[str, Any]) -> Iterator[Offer]:
    return ((each["id"], f"{each['status']}: {_of_user(each)}") for each in client.registrations(given["slug"]))


def _of_user(registration: "Json") -> str:
    return str((registration.get("user") or {}).get("name", ""))


def _invitations(client: "Client", _: dict[str, Any]) -> Iterator[Offer]:
    return ((each["id"], each.get("note") or "") for each in client.site_invitations())


def _invitations_to_challenge(client: "Client", given: dict[str, Any]) -> Iterator[Offer]:
    return ((each["id"], each.get("note") or "") for each in client.challenge_invitations(given["slug"]))


def _invitations_to_team(client: "Client", given: dict[str, Any]) -> Iterator[Offer]:
    teams = client.teams(given["slug"])
    return ((each["id"], each.get("note") or "") for team in teams for each in team["invitations"])


def _members(client: "Client", given: dict[str, Any]) -> Iterator[Offer]:
    """The ids of members of the teams that the user sees; names need not be unique."""
    for team in client.teams(given["slug"]):
        for member in team["members"]:
            yield member["id"], f"{member['name']} ({team['name']})"


def _users(client: "Client", _: dict[str, Any]) -> Iterator[Offer]:
    return ((each["email"], each["name"]) for each in client.users())


def _people(client: "Client", given: dict[str, Any]) -> Iterator[Offer]:
    """Addresses of the organizers and the registered users of a challenge; without one, of all accounts."""
    if not given["slug"]:
        return _users(client, given)
    users = (row["user"] for row in client.registrations(given["slug"]))
    return ((each["email"], each["name"]) for each in chain(client.organizers(given["slug"]), users))


def _terms(client: "Client", given: dict[str, Any]) -> Iterator[Offer]:
    challenge = client.challenge(given["slug"], invitation=given.get("invitation"))
    return iter([(str(challenge["terms_version"]), "the terms of now")] if challenge["terms"] else [])


def _tokens(client: "Client", _: dict[str, Any]) -> Iterator[Offer]:
    return ((each["id"], each.get("name") or "") for each in client.tokens())


def _submissions(client: "Client", _: dict[str, Any]) -> Iterator[Offer]:
    """Ids of submissions that the user may read, newest first within each phase."""
    from app.client import ApiError

    deadline = time.monotonic() + SEARCH_SECONDS
    for challenge in client.list_challenges():
        for phase in client.challenge(challenge["slug"])["phases"]:
            with suppress(ApiError):  # a challenge in which the user takes no part
                for each in islice(client.submissions(challenge["slug"], phase["slug"]), MAX_OFFERS):
                    yield each["id"], f"{challenge['slug']} {phase['slug']} {each['method']} {each['status']}"
            if time.monotonic() > deadline:
                return


challenges = _completed_by(_challenges)
archived_challenges = _completed_by(_archived_challenges)
announcements = _completed_by(_announcements)
files = _completed_by(_files)
organizers = _completed_by(_organizers)
phases = _completed_by(_phases)
gold_versions = _completed_by(_gold_versions)
teams = _completed_by(_teams)
registrations = _completed_by(_registrations)
invitations = _completed_by(_invitations)
invitations_to_challenge = _completed_by(_invitations_to_challenge)
invitations_to_team = _completed_by(_invitations_to_team)
users = _completed_by(_users)
people = _completed_by(_people)
terms = _completed_by(_terms)
members = _completed_by(_members)
tokens = _completed_by(_tokens)
submissions = _completed_by(_submissions)
