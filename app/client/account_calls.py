"""Calls about accounts and tokens."""

from collections.abc import Iterator, Sequence

from app.client.paths import api_path
from app.transport import Json, Transport


class AccountCalls(Transport):
    """Calls about accounts and tokens."""

    def sign_up(
        self, email: str, name: str, password: str, *, approved: bool | None = None, invitation: str | None = None
    ) -> Json:
        """Create an account; only an administrator may set `approved`."""
        body: Json = {"email": email, "name": name, "password": password}
        more = {"approved": approved, "invitation": invitation}
        body |= {field: value for field, value in more.items() if value is not None}
        return self._json("POST", api_path("users"), json=body)

    def create_token(
        self,
        email: str,
        password: str,
        scopes: Sequence[str] | None = None,
        *,
        days: int | None = None,
        name: str = "",
    ) -> Json:
        """Create a token from e-mail address and password: `{"id", "token", …}`; it expires after so many days."""
        body: Json = {"email": email, "password": password}
        more = {"scopes": None if scopes is None else list(scopes), "days": days, "name": name or None}
        body |= {field: value for field, value in more.items() if value is not None}
        return self._json("POST", api_path("tokens"), json=body)

    def tokens(self) -> Iterator[Json]:
        """Your tokens, newest first, fetched page by page."""
        return self._items(api_path("tokens"))

    def change_password(self, current: str, new: str) -> None:
        """Change the password; all other tokens and all sessions end."""
        self._call("POST", api_path("me", "password"), json={"current": current, "new": new})

    def spend_reset(self, secret: str, password: str) -> None:
        """Set a new password with the secret of a reset link."""
        self._call("POST", api_path("password-resets"), json={"secret": secret, "password": password})

    def rename_me(self, name: str) -> Json:
        """Change the name of the account."""
        return self._json("PATCH", api_path("me"), json={"name": name})

    def my_data(self) -> Json:
        """Everything that the service stores about the account."""
        return self._json("GET", api_path("me", "data"))

    def delete_me(self, password: str) -> None:
        """Delete the account; what it sent stays under a pseudonym."""
        self._call("DELETE", api_path("me"), json={"password": password})

    # ---- for administrators

    def users(self, search: str | None = None, status: str | None = None) -> Iterator[Json]:
        """Accounts, newest first, fetched page by page."""
        return self._items(api_path("users"), params={"q": search, "status": status})

    def edit_user(self, user_id: str, changes: Json) -> Json:
        """Approve, disable or enable an account."""
        return self._json("PATCH", api_path("users", user_id), json=changes)

    def delete_user(self, user_id: str, *, reason: str | None = None) -> None:
        """Delete an account; the audit trail keeps the reason."""
        self._call("DELETE", api_path("users", user_id), params={"reason": reason})

    def reset_user(self, user_id: str, *, reason: str | None = None) -> Json:
        """A link with which a user sets a new password: `{"link", "expires_at"}`."""
        return self._json("POST", api_path("users", user_id, "reset"), json={"reason": reason})

    def invite_to_site(self, *, max_uses: int | None = 1, days: int = 30, note: str = "") -> Json:
        """An invitation to sign up, with its `code`."""
        body = {"max_uses": max_uses, "days": days, "note": note}
        return self._json("POST", api_path("invitations"), json=body)

    def site_invitations(self) -> Iterator[Json]:
        """The invitations to the site, newest first, fetched page by page."""
        return self._items(api_path("invitations"))

    def revoke_site_invitation(self, invitation_id: str, *, reason: str | None = None) -> None:
        """Revoke an invitation to the site."""
        self._call("DELETE", api_path("invitations", invitation_id), params={"reason": reason})

    def revoke_token(self, token_id: str, *, reason: str | None = None) -> None:
        """Revoke one of your tokens; an administrator may revoke any."""
        self._call("DELETE", api_path("tokens", token_id), params={"reason": reason})

    def me(self) -> Json:
        """The account of the token."""
        return self._json("GET", api_path("me"))
