"""Calls about submissions and quotas."""

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from app.client.paths import api_path, phase_path, submissions_path
from app.transport import ClientError, Json, Progress, StreamedBody, Transport

FINAL = frozenset({"finished", "rejected", "failed", "cancelled"})
"""The final statuses of a submission."""

MAX_WAIT_HEADER_SECONDS = 60  # the service's limit for Prefer: wait


class SubmissionCalls(Transport):
    """Calls about submissions and quotas."""

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
        team: str | None = None,
        baseline: bool = False,
        test: bool = False,
        wait: float = 0.0,
        idempotency_key: str | None = None,
        progress: Progress | None = None,
        on_waiting: Callable[[Json], None] | None = None,
    ) -> Json:
        """Submit predictions, wait up to `wait` seconds for a final status, and return the submission.

        In a phase with limits the submission also says what is `remaining` of the team's quota, and its `reset_at`.
        Organizers may name the `team` that they submit for, and mark a `baseline` or a `test` entry.
        `on_waiting` is called with the submission each time that it is read and its status is not final.
        After a broken connection or a 503 the request is retried with the same Idempotency-Key, so that the predictions
        are submitted only once.
        """
        deadline = time.monotonic() + wait
        name = filename or getattr(predictions, "name", None)
        params = {"filename": name, "layout": layout, "method": method, "description": description, "link": link}
        params |= {"team": team, "baseline": "true" if baseline else None, "test": "true" if test else None}
        headers = {"Idempotency-Key": idempotency_key or str(uuid.uuid4())}
        header_wait = min(MAX_WAIT_HEADER_SECONDS, int(wait))
        if header_wait > 0:
            headers["Prefer"] = f"wait={header_wait}"
        body, path = StreamedBody(predictions, progress), submissions_path(slug, phase)
        sent = self._upload(path, body, params, headers, retry=True, patience=header_wait)
        submission = self._wait_until_final(sent, deadline, on_waiting)
        if "remaining" in sent and "remaining" not in submission:  # it was read again, and may have been refunded
            with suppress(ClientError):
                quota = self.quota(slug, str(submission["phase"]))
                submission |= {
                    name: quota.get(name) for name in ("remaining", "reset_at", "reset_at_local", "timezone")
                }
        return submission

    def dry_run(
        self,
        slug: str,
        predictions: Path | bytes,
        *,
        phase: str | None = None,
        filename: str | None = None,
        layout: str | None = None,
        test: bool = False,
        progress: Progress | None = None,
    ) -> Json:
        """Validate predictions without submitting them: `{"valid", "total", "problems"}`.

        Organizers, who are in no team, validate them as a `test` entry.
        """
        name = filename or getattr(predictions, "name", None)
        params = {"dry_run": "true", "filename": name, "layout": layout, "test": "true" if test else None}
        return self._upload(submissions_path(slug, phase), StreamedBody(predictions, progress), params, retry=True)

    def submission(self, submission: str) -> Json:
        """One submission, with status, scores and problems."""
        return self._json("GET", api_path("submissions", submission))

    def problems(self, submission: str) -> Json:
        """The problems of a submitted file: `{"submission", "total", "problems"}`, with the line or value as `excerpt`.

        For an organizer this counts as a download of the file, which the audit trail shows.
        """
        return self._json("GET", api_path("submissions", submission, "problems"))

    def events(self, submission: str) -> Iterator[tuple[str, Json]]:
        """Follow a submission: each event with its name, until the final status.

        `status` comes with the submission, `queue` with its place in the queue. The iterator ends early if the stream
        breaks off; read the submission, then follow it again.
        """
        return self._events(api_path("submissions", submission, "events"))

    def delete_test_entry(self, submission: str, *, reason: str | None = None) -> None:
        """Delete a test entry of organizers."""
        self._call("DELETE", api_path("submissions", submission), params={"reason": reason})

    def predictions(self, submission: str) -> bytes:
        """The file of a submission, exactly as it was uploaded."""
        path = api_path("submissions", submission, "predictions")
        return self._call("GET", path, headers={"Accept": "*/*"}).content

    def receipt(
        self,
        submission: str,
        *,
        split: str | None = None,
        gold_version: int | None = None,
        recipe_version: int | None = None,
    ) -> bytes:
        """The receipt of a submission, a DSSE envelope, by default of the visible split and the versions in force."""
        path = api_path("submissions", submission, "receipt")
        params = {"split": split, "gold_version": gold_version, "recipe_version": recipe_version}
        return self._call("GET", path, params=params, headers={"Accept": "*/*"}).content

    def receipt_keys(self) -> bytes:
        """The public keys of receipts, a JWK set."""
        return self._call("GET", api_path("jwks.json"), headers={"Accept": "*/*"}).content

    def submissions(self, slug: str, phase: str) -> Iterator[Json]:
        """The team's submissions in a phase (for organizers: all), fetched page by page."""
        return self._items(phase_path(slug, phase, "submissions"))

    def select(self, submission: str, *, chosen: bool = True, reason: str | None = None) -> Json:
        """Select a submission for the final standing, or, with `chosen` false, unselect it.

        Organizers give the `reason` for changing the selection of a team.
        """
        path = api_path("submissions", submission, "select" if chosen else "unselect")
        return self._json("POST", path, json=None if reason is None else {"reason": reason})

    def rerun(self, submission: str, *, reason: str | None = None) -> Json:
        """Score a failed submission again, or a finished one to compare (organizers see the result in `rerun`)."""
        return self._json("POST", api_path("submissions", submission, "rerun"), params={"reason": reason})

    def rerun_phase(self, slug: str, phase: str, *, reason: str | None = None) -> Json:
        """Order the rescoring of all finished submissions of a phase; return a running order if there is one."""
        return self._json("POST", phase_path(slug, phase, "rerun"), params={"reason": reason})

    def rerun_state(self, slug: str, phase: str) -> Json:
        """Progress of the rescoring order; `next` has the size and estimated duration of another one."""
        return self._json("GET", phase_path(slug, phase, "rerun"))

    def cancel_rerun(self, slug: str, phase: str, *, reason: str | None = None) -> Json:
        """Cancel the rescorings that have not started."""
        return self._json("DELETE", phase_path(slug, phase, "rerun"), params={"reason": reason})

    def quota(self, slug: str, phase: str, team: str | None = None) -> Json:
        """Limits, usage, grants and ledger of the caller's team in a phase; organizers may name a team."""
        return self._json("GET", phase_path(slug, phase, "quota"), params={"team": team})

    def grant_quota(
        self, slug: str, phase: str, team: str, *, per_day: int | None = None, total: int | None = None, reason: str
    ) -> Json:
        """Add to the limits of one team in a phase, or take from them; returns its quota."""
        body = {"team": team, "per_day": per_day, "total": total, "reason": reason}
        return self._json("POST", phase_path(slug, phase, "quota", "grants"), json=body)

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
