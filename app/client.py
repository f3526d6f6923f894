"""The Python client of the REST API, shared by the command line and by users' scripts."""

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from app.transport import ApiError, ClientError, Json, Progress, StreamedBody, Transport, UnreachableError

FINAL = frozenset({"finished", "rejected", "failed", "cancelled"})
"""The final statuses of a submission."""

MAX_WAIT_HEADER_SECONDS = 60  # the service's limit for Prefer: wait


class Client(Transport):
    """A client of one service with one token, to be used as a context manager; every method is one API call."""

    # ---- accounts

    def sign_up(self, email: str, name: str, password: str, *, approved: bool | None = None) -> Json:
        """Create an account; only an administrator may set `approved`."""
        body: Json = {"email": email, "name": name, "password": password}
        return self._json("POST", _api_path("users"), json=body if approved is None else body | {"approved": approved})

    def create_token(self, email: str, password: str, scopes: Sequence[str] | None = None) -> Json:
        """Create a token from e-mail address and password: `{"id", "token", …}`."""
        body: Json = {"email": email, "password": password}
        return self._json("POST", _api_path("tokens"), json=body if scopes is None else body | {"scopes": list(scopes)})

    def revoke_token(self, token_id: str) -> None:
        """Revoke one of your tokens; an administrator may revoke any."""
        self._call("DELETE", _api_path("tokens", token_id))

    def me(self) -> Json:
        """The account of the token."""
        return self._json("GET", _api_path("me"))

    # ---- challenges

    def create_challenge(self, body: Json) -> Json:
        """Create a challenge from its description."""
        return self._json("POST", _api_path("challenges"), json=body)

    def edit_challenge(self, slug: str, changes: Json) -> Json:
        """Change title, description, visibility, registration or time zone; `{"draft": false}` publishes a draft."""
        return self._json("PATCH", _api_path("challenges", slug), json=changes)

    def put_recipe(self, slug: str, recipe: Json) -> Json:
        """Activate a recipe."""
        return self._json("PUT", _api_path("challenges", slug, "recipe"), json=recipe)

    def put_phase(self, slug: str, phase: str | None, plan: Json) -> Json:
        """Change a phase, or add one if `phase` is None."""
        if phase is None:
            return self._json("POST", _api_path("challenges", slug, "phases"), json=plan)
        changes = {name: value for name, value in plan.items() if name != "name"}
        return self._json("PATCH", _phase_path(slug, phase), json=changes)

    def list_challenges(self) -> Iterator[Json]:
        """All challenges that are visible to the token, fetched page by page."""
        return self._items(_api_path("challenges"))

    def challenge(self, slug: str) -> Json:
        """One challenge."""
        return self._json("GET", _api_path("challenges", slug))

    def phase(self, slug: str, phase: str | None = None) -> str:
        """`phase` if given, else the challenge's only phase, else its only open phase."""
        if phase is not None:
            return phase
        phases: list[Json] = self.challenge(slug).get("phases") or []
        candidates = phases if len(phases) == 1 else [candidate for candidate in phases if candidate.get("open")]
        if len(candidates) != 1:
            detail = f"Challenge {slug} has several phases: {', '.join(map(_phase_slug, phases))}."
            raise ClientError({"code": "which_phase", "detail": detail, "remedy": "Specify the phase."})
        return _phase_slug(candidates[0])

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
        """Upload gold labels as a new version, and activate it unless `activate` is false."""
        params = {"activate": "true" if activate else "false", "filename": path.name, "layout": layout}
        return self._upload(_phase_path(slug, phase, "gold"), StreamedBody(path, progress), params)

    def gold_versions(self, slug: str, phase: str) -> Iterator[Json]:
        """The gold versions of a phase, newest first, fetched page by page."""
        return self._items(_phase_path(slug, phase, "gold"))

    def put_gold_table(self, slug: str, phase: str, version: int, table: str, content: Any) -> Json:
        """Add `classes` or other gold metadata, such as `train-frequencies`, to a draft of the gold."""
        return self._json("PUT", _phase_path(slug, phase, "gold", str(version), table), json=content)

    def activate_gold(self, slug: str, phase: str, version: int) -> Json:
        """Activate a draft of the gold."""
        return self._json("POST", _phase_path(slug, phase, "gold", str(version), "activate"))

    def register(self, slug: str, team: str) -> Json:
        """Register for a challenge by creating a team."""
        return self._json("POST", _api_path("challenges", slug, "registrations"), json={"team": team})

    def template(self, slug: str, phase: str, file_format: str = "json", values: str | None = None) -> bytes:
        """A file with the ids to predict, sorted, to be filled in with `values`: "labels" or "scores"."""
        params = {"format": file_format or None, "values": values or None}
        return self._call("GET", _phase_path(slug, phase, "template"), params=params).content

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
        on_waiting: Callable[[Json], None] | None = None,
    ) -> Json:
        """Submit predictions, wait up to `wait` seconds for a final status, and return the submission.

        `on_waiting` is called with the submission each time that it is read and its status is not final.
        After a broken connection or a 503 the request is retried with the same Idempotency-Key, so that the predictions
        are submitted only once.
        """
        deadline = time.monotonic() + wait
        name = filename or getattr(predictions, "name", None)
        params = {"filename": name, "layout": layout, "method": method, "description": description, "link": link}
        headers = {"Idempotency-Key": idempotency_key or str(uuid.uuid4())}
        header_wait = min(MAX_WAIT_HEADER_SECONDS, int(wait))
        if header_wait > 0:
            headers["Prefer"] = f"wait={header_wait}"
        body, path = StreamedBody(predictions, progress), _submissions_path(slug, phase)
        submission = self._upload(path, body, params, headers, retry=True, patience=header_wait)
        return self._wait_until_final(submission, deadline, on_waiting)

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
        """Validate predictions without submitting them: `{"valid", "total", "problems"}`."""
        name = filename or getattr(predictions, "name", None)
        params = {"dry_run": "true", "filename": name, "layout": layout}
        return self._upload(_submissions_path(slug, phase), StreamedBody(predictions, progress), params, retry=True)

    def submission(self, submission: str) -> Json:
        """One submission, with status, scores and problems."""
        return self._json("GET", _api_path("submissions", submission))

    def submissions(self, slug: str, phase: str) -> Iterator[Json]:
        """The team's submissions in a phase (for organizers: all), fetched page by page."""
        return self._items(_phase_path(slug, phase, "submissions"))

    def select(self, submission: str, *, chosen: bool = True) -> Json:
        """Select a finished submission for the final standing, or, with `chosen` false, unselect it."""
        return self._json("POST", _api_path("submissions", submission, "select" if chosen else "unselect"))

    def cancel(self, submission: str) -> Json:
        """Cancel a queued submission."""
        return self._json("POST", _api_path("submissions", submission, "cancel"))

    def rerun(self, submission: str) -> Json:
        """Score a failed submission again, or a finished one to compare (organizers see the result in `rerun`)."""
        return self._json("POST", _api_path("submissions", submission, "rerun"))

    def rerun_phase(self, slug: str, phase: str) -> Json:
        """Order the rescoring of all finished submissions of a phase; return a running order if there is one."""
        return self._json("POST", _phase_path(slug, phase, "rerun"))

    def rerun_state(self, slug: str, phase: str) -> Json:
        """Progress of the rescoring order; `next` has the size and estimated duration of another one."""
        return self._json("GET", _phase_path(slug, phase, "rerun"))

    def cancel_rerun(self, slug: str, phase: str) -> Json:
        """Cancel the rescorings that have not started."""
        return self._json("DELETE", _phase_path(slug, phase, "rerun"))

    def quota(self, slug: str, phase: str) -> Json:
        """Limits, usage and ledger of the caller's team in a phase."""
        return self._json("GET", _phase_path(slug, phase, "quota"))

    # ---- results

    def leaderboard(self, slug: str, phase: str, **filters: str | int | None) -> Json:
        """The leaderboard of a phase, best first; filters: `metric`, `split`, and `limit` and `cursor` for a page."""
        return self._json("GET", _phase_path(slug, phase, "leaderboard"), params=filters)

    def leaderboard_csv(self, slug: str, phase: str, **filters: str | int | None) -> str:
        """The leaderboard of a phase as CSV text; filters as for `leaderboard`."""
        path, params = _phase_path(slug, phase, "leaderboard"), filters | {"format": "csv"}
        return self._call("GET", path, params=params, headers={"Accept": "text/csv"}).text

    def metrics(self, key: str | None = None) -> Json:
        """The metric catalogue, or one metric."""
        return self._json("GET", _api_path("metrics") if key is None else _api_path("metrics", key))

    def _wait_until_final(
        self, submission: Json, deadline: float, on_waiting: Callable[[Json], None] | None = None
    ) -> Json:
        pause = 0.25
        while submission.get("status") not in FINAL and (left := deadline - time.monotonic()) > 0:
            if on_waiting is not None:
                on_waiting(submission)
            time.sleep(min(pause, left))
            pause = min(pause * 1.5, 10.0)
            submission = self.submission(str(submission["id"]))
        return submission


def _api_path(*parts: str) -> str:
    return "/api/v1/" + "/".join(quote(part, safe="") for part in parts)


def _phase_path(slug: str, phase: str, *parts: str) -> str:
    return _api_path("challenges", slug, "phases", phase, *parts)


def _submissions_path(slug: str, phase: str | None) -> str:
    """Without a phase the service uses the one that is open."""
    return _api_path("challenges", slug, "submissions") if phase is None else _phase_path(slug, phase, "submissions")


def _phase_slug(phase: Json) -> str:
    return str(phase.get("slug") or phase.get("name"))


__all__ = ["FINAL", "ApiError", "Client", "ClientError", "Json", "Progress", "UnreachableError"]
