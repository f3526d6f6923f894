"""Calls about challenges, recipes and phases."""

from collections.abc import Iterator

from app.client.paths import api_path, phase_path, phase_slug
from app.transport import ClientError, Json, Transport


class ChallengeCalls(Transport):
    """Calls about challenges, recipes and phases."""

    def create_challenge(self, body: Json) -> Json:
        """Create a challenge from its description."""
        return self._json("POST", api_path("challenges"), json=body)

    def edit_challenge(self, slug: str, changes: Json, *, reason: str | None = None) -> Json:
        """Change fields of a challenge; `{"draft": false}` publishes a draft. The audit trail keeps the reason."""
        return self._json("PATCH", api_path("challenges", slug), json=changes, params={"reason": reason})

    def archive_challenge(self, slug: str, reason: str | None = None) -> Json:
        """Make a challenge read-only, as an owner."""
        return self._json("POST", api_path("challenges", slug, "archive"), json={"reason": reason})

    def unarchive_challenge(self, slug: str, reason: str | None = None) -> Json:
        """Let an archived challenge go on, as an owner."""
        return self._json("POST", api_path("challenges", slug, "unarchive"), json={"reason": reason})

    def copy_challenge(
        self, slug: str, new_slug: str, *, title: str | None = None, gold: bool = False, opens_at: str | None = None
    ) -> Json:
        """Create a draft with the rules of a challenge; `opens_at` moves all windows, so that the first opens then."""
        body = {"slug": new_slug, "title": title, "gold": gold, "opens_at": opens_at}
        return self._json("POST", api_path("challenges", slug, "copy"), json=body)

    def delete_challenge(self, slug: str, *, confirm: str | None = None, reason: str | None = None) -> None:
        """Delete a challenge: an owner while nothing was submitted, else an administrator with the slug as `confirm`."""
        self._call("DELETE", api_path("challenges", slug), params={"confirm": confirm, "reason": reason})

    def organizers(self, slug: str) -> Iterator[Json]:
        """The organizers of a challenge, owners first, fetched page by page."""
        return self._items(api_path("challenges", slug, "organizers"))

    def set_organizer(self, slug: str, email: str, role: str, *, reason: str | None = None) -> Json:
        """Give a user the role `owner`, `editor` or `viewer`, or change it, as an owner."""
        body = {"email": email, "role": role, "reason": reason}
        return self._json("POST", api_path("challenges", slug, "organizers"), json=body)

    def remove_organizer(self, slug: str, email: str, *, reason: str | None = None) -> None:
        """Take the role of an organizer away, as an owner; the audit trail keeps the reason."""
        self._call("DELETE", api_path("challenges", slug, "organizers"), params={"email": email, "reason": reason})

    def recipe(self, slug: str, phase: str | None = None) -> Json:
        """The recipe that the phases share, or that of one phase."""
        return self._json("GET", api_path("challenges", slug, "recipe"), params={"phase": phase})

    def put_recipe(
        self, slug: str, recipe: Json, phase: str | None = None, *, draft: bool = False, reason: str | None = None
    ) -> Json:
        """Store a recipe, with `phase` for this phase alone; it is activated if that needs no new scores."""
        params = {"phase": phase, "reason": reason, "draft": "true" if draft else None}
        return self._json("PUT", api_path("challenges", slug, "recipe"), json=recipe, params=params)

    def check_recipe(self, slug: str, recipe: Json, phase: str | None = None) -> Json:
        """What a recipe would mean, without activating it: equations, and what its scores would give away."""
        return self._json("POST", api_path("challenges", slug, "recipe", "check"), json=recipe, params={"phase": phase})

    def challenge_facts(self, slug: str) -> Json:
        """As an organizer, how many teams and submissions a challenge has, and what waits."""
        return self._json("GET", api_path("challenges", slug, "facts"))

    def drop_recipe(self, slug: str, phase: str, *, reason: str | None = None) -> Json:
        """Return a phase to the recipe of the challenge."""
        return self._json("DELETE", api_path("challenges", slug, "recipe"), params={"phase": phase, "reason": reason})

    def add_phase(self, slug: str, plan: Json, *, reason: str | None = None) -> Json:
        """Add a phase after the others."""
        return self._json("POST", api_path("challenges", slug, "phases"), json=plan, params={"reason": reason})

    def edit_phase(self, slug: str, phase: str, changes: Json, *, reason: str | None = None) -> Json:
        """Change fields of a phase; a new name changes its slug. The audit trail keeps the reason."""
        return self._json("PATCH", phase_path(slug, phase), json=changes, params={"reason": reason})

    def show_phase(self, slug: str, phase: str) -> Json:
        """One phase."""
        return self._json("GET", phase_path(slug, phase))

    def delete_phase(self, slug: str, phase: str, *, reason: str | None = None) -> None:
        """Delete a phase to which nothing was submitted."""
        self._call("DELETE", phase_path(slug, phase), params={"reason": reason})

    def pause_phase(self, slug: str, phase: str, reason: str) -> Json:
        """Refuse submissions of participants until the phase is resumed."""
        return self._json("POST", phase_path(slug, phase, "pause"), json={"reason": reason})

    def resume_phase(self, slug: str, phase: str, *, reason: str | None = None) -> Json:
        """Accept submissions again."""
        return self._json("POST", phase_path(slug, phase, "resume"), json={"reason": reason})

    def release_preview(self, slug: str, phase: str) -> Json:
        """The public and the private rank of each team, and what stands in the way of the final release."""
        return self._json("GET", phase_path(slug, phase, "release"))

    def ladder(self, slug: str, phase: str) -> Json:
        """The feedback that the Ladder of a phase has given to each team, and what it guarantees."""
        return self._json("GET", phase_path(slug, phase, "ladder"))

    def release(self, slug: str, phase: str, reason: str | None = None) -> Json:
        """Show the private scores of a phase from now on; it cannot be undone."""
        return self._json("POST", phase_path(slug, phase, "release"), json={"reason": reason})

    def list_challenges(self, *, archived: bool = False) -> Iterator[Json]:
        """All challenges that are visible to the token, or the archived ones, fetched page by page."""
        return self._items(api_path("challenges"), params={"archived": "true"} if archived else None)

    def challenge(self, slug: str, *, invitation: str | None = None) -> Json:
        """One challenge; a private one also with the code of an invitation to it."""
        headers = {} if invitation is None else {"Assay-Invitation": invitation}
        return self._json("GET", api_path("challenges", slug), headers=headers)

    def phase(self, slug: str, phase: str | None = None) -> str:
        """`phase` if given, else the challenge's only phase, else its only open phase."""
        if phase is not None:
            return phase
        phases: list[Json] = self.challenge(slug).get("phases") or []
        candidates = phases if len(phases) == 1 else [candidate for candidate in phases if candidate.get("open")]
        if len(candidates) != 1:
            detail = f"Challenge {slug} has several phases: {', '.join(map(phase_slug, phases))}."
            raise ClientError({"code": "which_phase", "detail": detail, "remedy": "Specify the phase."})
        return phase_slug(candidates[0])

    def template(self, slug: str, phase: str, file_format: str = "json", values: str | None = None) -> bytes:
        """A file with the ids to predict, sorted, to be filled in with `values`: "labels" or "scores"."""
        params = {"format": file_format or None, "values": values or None}
        return self._call("GET", phase_path(slug, phase, "template"), params=params).content
