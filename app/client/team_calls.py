"""Calls about registrations and teams."""

from collections.abc import Iterator, Mapping

from app.client.paths import api_path
from app.transport import Json, Transport


class TeamCalls(Transport):
    """Calls about registrations and teams."""

    def register(
        self,
        slug: str,
        team: str | None = None,
        *,
        invitation: str | None = None,
        terms: int | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> Json:
        """Register for a challenge: found a team of this name, or use the code of an invitation, or both.

        `terms` is the version of the terms that the user accepts, `fields` holds answers to what organizers ask for.
        """
        body = {"team": team, "invitation": invitation, "terms": terms, "fields": fields or None}
        sent = {name: value for name, value in body.items() if value is not None}
        return self._json("POST", api_path("challenges", slug, "registrations"), json=sent)

    def registrations(self, slug: str) -> Iterator[Json]:
        """The caller's own registration (for organizers: all), fetched page by page."""
        return self._items(api_path("challenges", slug, "registrations"))

    def registration(self, slug: str, registration: str) -> Json:
        """One registration with the history of decisions."""
        return self._json("GET", api_path("challenges", slug, "registrations", registration))

    def decide_registration(self, slug: str, registration: str, status: str, *, reason: str | None = None) -> Json:
        """As an organizer, set a registration to `approved`, `barred` (with a reason) or `pending`."""
        body = {"status": status} | ({} if reason is None else {"reason": reason})
        return self._json("PATCH", api_path("challenges", slug, "registrations", registration), json=body)

    def invite_to_challenge(self, slug: str, *, max_uses: int | None, days: int, note: str) -> Json:
        """As an organizer, make a code with which users register, approved at once."""
        body = {"max_uses": max_uses, "days": days, "note": note}
        return self._json("POST", api_path("challenges", slug, "invitations"), json=body)

    def challenge_invitations(self, slug: str) -> Iterator[Json]:
        """As an organizer, the invitations to a challenge that were not revoked, fetched page by page."""
        return self._items(api_path("challenges", slug, "invitations"))

    def revoke_challenge_invitation(self, slug: str, invitation: str, *, reason: str | None = None) -> None:
        """As an organizer, revoke an invitation to a challenge."""
        self._call("DELETE", api_path("challenges", slug, "invitations", invitation), params={"reason": reason})

    def state_again(
        self, slug: str, registration: str, *, terms: int | None = None, fields: Mapping[str, str] | None = None
    ) -> Json:
        """Accept the current terms of a challenge, or change answers, in the own registration."""
        stated = {"terms": terms, "fields": fields or None}
        sent = {name: value for name, value in stated.items() if value is not None}
        return self._json("PATCH", api_path("challenges", slug, "registrations", registration), json=sent)

    def end_registration(self, slug: str, registration: str) -> None:
        """End the caller's own registration and leave the team."""
        self._call("DELETE", api_path("challenges", slug, "registrations", registration))

    def allow_to_join(self, slug: str, registration: str, *, reason: str | None = None) -> Json:
        """As an organizer, let a user who left a team that had used quota join or found another one."""
        body = {"may_join": True, "reason": reason}
        return self._json("PATCH", api_path("challenges", slug, "registrations", registration), json=body)

    def teams(self, slug: str) -> Iterator[Json]:
        """The caller's own team (for organizers: all), fetched page by page."""
        return self._items(api_path("challenges", slug, "teams"))

    def edit_team(self, slug: str, team: str, *, reason: str | None = None, **changes: str) -> Json:
        """Change the `name` of a team, or its `captain` (the id of a member)."""
        return self._json("PATCH", api_path("challenges", slug, "teams", team), json=changes, params={"reason": reason})

    def invite_to_team(self, slug: str, team: str, *, note: str = "", days: int | None = None) -> Json:
        """Make a one-time code that admits one user to a team."""
        body = {"note": note} | ({} if days is None else {"days": days})
        return self._json("POST", api_path("challenges", slug, "teams", team, "invitations"), json=body)

    def revoke_team_invitation(self, slug: str, team: str, invitation: str, *, reason: str | None = None) -> None:
        """End an invitation that was not used."""
        self._call(
            "DELETE", api_path("challenges", slug, "teams", team, "invitations", invitation), params={"reason": reason}
        )

    def remove_member(self, slug: str, team: str, user: str, *, reason: str | None = None) -> None:
        """Leave a team (with one's own id), or remove a member; organizers give a reason."""
        path = api_path("challenges", slug, "teams", team, "members", user)
        self._call("DELETE", path, params={"reason": reason})

    def merge_teams(self, slug: str, team: str, other: str, *, reason: str | None = None) -> Json:
        """Propose to merge the own team with another one, or agree to its proposal."""
        return self._json(
            "POST",
            api_path("challenges", slug, "teams", team, "merge"),
            json={"with": other},
            params={"reason": reason},
        )

    def withdraw_merge(self, slug: str, team: str, other: str, *, reason: str | None = None) -> None:
        """Withdraw the proposal of the own team to merge with another one, or decline that of the other."""
        self._call(
            "DELETE", api_path("challenges", slug, "teams", team, "merge"), params={"with": other, "reason": reason}
        )
