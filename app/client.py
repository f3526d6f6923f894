"""The Python client of the REST API, shared by the command line and by users' scripts."""

import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from app.transport import ApiError, ClientError, Json, Progress, StreamedBody, Transport, UnreachableError

FINAL = frozenset({"finished", "rejected", "failed", "cancelled"})
"""The statuses of a submission that never change again."""

MAX_WAIT_HEADER_SECONDS = 60  # the service's bound for Prefer: wait


class Client(Transport):
    """One service, one token. Use it as a context manager; every method is one call of the API."""

    # ---- accounts

    def sign_up(self, email: str, name: str, password: str, *, approved: bool | None = None) -> Json:
        """Create an account; only an administrator may say `approved`."""
        body: Json = {"email": email, "name": name, "password": password}
        return self._json("POST", _api_path("users"), json=body if approved is None else body | {"approved": approved})

    def create_token(self, email: str, password: str, scopes: Sequence[str] | None = None) -> Json:
        """Trade e-mail address and password for a token: `{"id", "token", …}`."""
        body: Json = {"email": email, "password": password}
        return self._json("POST", _api_path("tokens"), json=body if scopes is None else body | {"scopes": list(scopes)})

    def revoke_token(self, token_id: str) -> None:
        """End a token of one's own; an administrator may end any."""
        self._call("DELETE", _api_path("tokens", token_id))

    def me(self) -> Json:
        """The account that the token belongs to."""
        return self._json("GET", _api_path("me"))

    # ---- challenges

    def create_challenge(self, body: Json) -> Json:
        """Create a challenge from its description."""
        return self._json("POST", _api_path("challenges"), json=body)

    def edit_challenge(self, slug: str, changes: Json) -> Json:
        """Change title, description, visibility, registration or time zone; `{"draft": false}` publishes a draft."""
        return self._json("PATCH", _api_path("challenges", slug), json=changes)

    def put_recipe(self, slug: str, recipe: Json) -> Json:
        """Put a recipe in force."""
        return self._json("PUT", _api_path("challenges", slug, "recipe"), json=recipe)

    def put_phase(self, slug: str, phase: str | None, plan: Json) -> Json:
        """Change a phase, or add one where `phase` is None."""
        if phase is None:
            return self._json("POST", _api_path("challenges", slug, "phases"), json=plan)
        changes = {name: value for name, value in plan.items() if name != "name"}
        return self._json("PATCH", _phase_path(slug, phase), json=changes)

    def list_challenges(self) -> Iterator[Json]:
        """All challenges that this token may see, page by page."""
        return self._items(_api_path("challenges"))

    def challenge(self, slug: str) -> Json:
        """One challenge."""
        return self._json("GET", _api_path("challenges", slug))

    def phase(self, slug: str, phase: str | None = None) -> str:
        """The given phase, else the challenge's only one, else the only one that is open now."""
        if phase is not None:
            return phase
        phases: list[Json] = self.challenge(slug).get("phases") or []
        chosen = phases if len(phases) == 1 else [one for one in phases if one.get("open")]
        if len(chosen) != 1:
            names = ", ".join(_phase_slug(one) for one in phases)
            detail = f"Challenge {slug} has several phases: {names}."
            raise ClientError({"code": "which_phase", "detail": detail, "remedy": "Say which one you mean."})
        return _phase_slug(chosen[0])

    def upload_gold(
        self,
        slug: str,
        phase: str,
        path: Path,
        *,
        activate: bool = True,
        layout: str | None = None,
        progress: Progress | None = None,
    ) -> Json:
        """Upload true labels as a new version; with `activate` they are in use at once."""
        params = {"activate": "true" if activate else "false", "filename": path.name, "layout": layout}
        return self._upload(_phase_path(slug, phase, "gold"), StreamedBody(path, progress), params)

    def gold_versions(self, slug: str, phase: str) -> Iterator[Json]:
        """The versions of a phase's gold, newest first, page by page."""
        return self._items(_phase_path(slug, phase, "gold"))

    def put_gold_table(self, slug: str, phase: str, version: int, table: str, content: Any) -> Json:
        """Give a draft of the gold its `classes` or an accessory, such as `train-frequencies`."""
        return self._json("PUT", _phase_path(slug, phase, "gold", str(version), table), json=content)

    def activate_gold(self, slug: str, phase: str, version: int) -> Json:
        """Put a draft of the gold into use."""
        return self._json("POST", _phase_path(slug, phase, "gold", str(version), "activate"))

    def register(self, slug: str, team: str) -> Json:
        """Register by founding a team."""
        return self._json("POST", _api_path("challenges", slug, "registrations"), json={"team": team})

    def template(self, slug: str, phase: str, file_format: str = "json", values: str | None = None) -> bytes:
        """The ids to predict, sorted, as a file to fill in with `values` ("labels" or "scores")."""
        path = _phase_path(slug, phase, "template")
        asked = {"format": file_format, "values": values}
        return self._call("GET", path, params={name: value for name, value in asked.items() if value}).content

    # ---- submissions

    def submit(
        self,
        slug: str,
        predictions: Path | bytes,
        *,
        filename: str | None = None,
        method: str | None = None,
        description: str | None = None,
        link: str | None = None,
        layout: str | None = None,
        phase: str | None = None,
        wait: float = 0.0,
        idempotency_key: str | None = None,
        progress: Progress | None = None,
    ) -> Json:
        """Hand in predictions and wait up to `wait` seconds for a final status; the submission as it is then.

        A broken connection or a 503 is retried under the same Idempotency-Key, so nothing is handed in twice.
        """
        until = time.monotonic() + wait
        name = filename or getattr(predictions, "name", None)
        params = {"filename": name, "layout": layout, "method": method, "description": description, "link": link}
        headers = {"Idempotency-Key": idempotency_key or str(uuid.uuid4())}
        at_once = min(MAX_WAIT_HEADER_SECONDS, int(wait))
        if at_once > 0:
            headers["Prefer"] = f"wait={at_once}"
        body = StreamedBody(predictions, progress)
        made = self._upload(_submissions_path(slug, phase), body, params, headers, retry=True, patience=at_once)
        return self._wait_until_final(made, until)

    def dry_run(
        self,
        slug: str,
        predictions: Path | bytes,
        *,
        phase: str | None = None,
        filename: str | None = None,
        layout: str | None = None,
        progress: Progress | None = None,
    ) -> Json:
        """Check predictions without handing them in: `{"valid", "total", "problems"}`."""
        name = filename or getattr(predictions, "name", None)
        params = {"dry_run": "true", "filename": name, "layout": layout}
        return self._upload(_submissions_path(slug, phase), StreamedBody(predictions, progress), params, retry=True)

    def submission(self, submission: str) -> Json:
        """One submission: status, scores, problems."""
        return self._json("GET", _api_path("submissions", submission))

    def submissions(self, slug: str, phase: str) -> Iterator[Json]:
        """The team's submissions in a phase (organizers: all), page by page."""
        return self._items(_phase_path(slug, phase, "submissions"))

    def select(self, submission: str, *, chosen: bool = True) -> Json:
        """Choose a finished submission for the final standing, or take the choice back."""
        return self._json("POST", _api_path("submissions", submission, "select" if chosen else "unselect"))

    def cancel(self, submission: str) -> Json:
        """Take a submission that waits out of the queue."""
        return self._json("POST", _api_path("submissions", submission, "cancel"))

    def rerun(self, submission: str) -> Json:
        """Score a submission again: a failed one anew, a finished one to compare (`rerun` tells organizers)."""
        return self._json("POST", _api_path("submissions", submission, "rerun"))

    def rerun_phase(self, slug: str, phase: str) -> Json:
        """Score all finished submissions of a phase again; the order that runs already, if one does."""
        return self._json("POST", _phase_path(slug, phase, "rerun"))

    def rerun_state(self, slug: str, phase: str) -> Json:
        """How far that is; `next` says how many another one would be, and how long it would take."""
        return self._json("GET", _phase_path(slug, phase, "rerun"))

    def cancel_rerun(self, slug: str, phase: str) -> Json:
        """Take back what of it has not begun."""
        return self._json("DELETE", _phase_path(slug, phase, "rerun"))

    def quota(self, slug: str, phase: str) -> Json:
        """Limits, use and ledger of the caller's own team in a phase."""
        return self._json("GET", _phase_path(slug, phase, "quota"))

    # ---- results

    def leaderboard(self, slug: str, phase: str, **filters: str | None) -> Json:
        """The board of a phase, best first; filters: `metric`, `split`."""
        return self._json("GET", _phase_path(slug, phase, "leaderboard"), params=filters)

    def leaderboard_csv(self, slug: str, phase: str, **filters: str | None) -> str:
        """The board of a phase as CSV text; filters as for `leaderboard`."""
        params = filters | {"format": "csv"}
        return self._call(
            "GET", _phase_path(slug, phase, "leaderboard"), params=params, headers={"Accept": "text/csv"}
        ).text

    def metrics(self, key: str | None = None) -> Json:
        """The catalogue of metrics, or one entry of it."""
        return self._json("GET", _api_path("metrics") if key is None else _api_path("metrics", key))

    def _wait_until_final(self, made: Json, until: float) -> Json:
        pause = 0.25
        while made.get("status") not in FINAL and (left := until - time.monotonic()) > 0:
            time.sleep(min(pause, left))
            pause = min(pause * 1.5, 10.0)
            made = self.submission(str(made["id"]))
        return made


def _api_path(*parts: str) -> str:
    return "/api/v1/" + "/".join(quote(part, safe="") for part in parts)


def _phase_path(slug: str, phase: str, *parts: str) -> str:
    return _api_path("challenges", slug, "phases", phase, *parts)


def _submissions_path(slug: str, phase: str | None) -> str:
    """Without a phase the service takes the one that is open now."""
    return _api_path("challenges", slug, "submissions") if phase is None else _phase_path(slug, phase, "submissions")


def _phase_slug(phase: Json) -> str:
    return str(phase.get("slug") or phase.get("name"))


__all__ = ["FINAL", "ApiError", "Client", "ClientError", "Json", "Progress", "UnreachableError"]
