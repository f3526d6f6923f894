"""Loads the digits challenge into a running service through its public API; loading it again has no effect."""

import base64
import hashlib
import hmac
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.cli.input import yaml_file
from app.cli.terminal.output import CommandError
from app.client import FINAL, ApiError, Client, Json

PHASE = "main"
DEMO_BOARD_METRICS = ("f1_macro", "f1_of_averages_macro", "accuracy")
ORGANIZER_EMAIL = "organizer@digits.example"
SCORING_TIMEOUT_SECONDS = 120.0  # for one submission, which usually takes less than a second
LICENCE = "CC-BY-4.0"
FILES = {
    "classes.json": "The ten classes in their order.",
    "train_frequencies.json": "How often each label occurs among the 898 training images.",
}
ANNOUNCEMENTS = {
    "The challenge is open": "Five systems with the default settings of scikit-learn are on the board to begin with. "
    "Can yours read what they cannot?",
    "Two numbers called macro F1": "The board shows the *mean of the F1 values* of the classes, which ranks, and the "
    "*F1 of the mean precision and the mean recall*. Say in your paper which one you report.",
}


def demo_secret(data_dir: Path) -> bytes:
    """The random secret that the demo accounts' passwords are derived from; created once per data folder, mode 600."""
    path = data_dir / "demo-secret"
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return bytes.fromhex(path.read_text("ascii"))
    with os.fdopen(handle, "w", encoding="ascii") as stream:
        stream.write(secrets.token_hex(32))
    return bytes.fromhex(path.read_text("ascii"))


def demo_password(secret: bytes, email: str) -> str:
    """The password of a demo account."""
    digest = hmac.digest(secret, email.encode(), hashlib.sha256)
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def write_organizer_password(data_dir: Path) -> Path:
    """Write the password of the organizer's account into a file of the data folder, mode 600; returns its path."""
    path = data_dir / "organizer-password"
    path.touch(mode=0o600)
    path.write_text(demo_password(demo_secret(data_dir), ORGANIZER_EMAIL) + "\n", "ascii")
    return path


@dataclass(frozen=True)
class DemoLoader:
    """Loads the example in `folder` into the service at `url`; passwords are derived from `secret`."""

    url: str
    admin_token: str
    folder: Path
    secret: bytes
    report_step: Callable[[str], None]

    def load(self) -> Json:
        """Create what is missing (accounts, challenge, gold, teams, submissions) and return the leaderboard."""
        description = yaml_file.load_description(self.folder / "challenge.yaml")
        slug = str(description["slug"])
        with Client(self.url, self.admin_token) as administrator:
            with self._sign_in_account(administrator, ORGANIZER_EMAIL, "Digits organizer", approved=True) as organizer:
                self._ensure_challenge(organizer, slug, description)
            for system in yaml_file.read_yaml(self.folder / "systems.yaml"):
                self._submit_system(administrator, slug, system)
            return administrator.leaderboard(slug, PHASE)

    @contextmanager
    def _sign_in_account(
        self, administrator: Client, email: str, name: str, *, approved: bool = False
    ) -> Iterator[Client]:
        """A client of the account, which is created if it is missing; its token is revoked when the block exits."""
        password = demo_password(self.secret, email)
        try:
            administrator.sign_up(email, name, password, approved=approved)
        except ApiError as error:
            if error.code != "email_taken":
                raise
        token = self._create_token(email, password)
        with Client(self.url, str(token["token"])) as client:
            try:
                yield client
            finally:
                client.revoke_token(str(token["id"]))

    def _create_token(self, email: str, password: str) -> Json:
        with Client(self.url) as visitor:
            try:
                return visitor.create_token(email, password)
            except ApiError as error:
                if error.code != "wrong_password":
                    raise
                detail = f"The account {email} exists, but its secret is not in this data folder."
                raise CommandError("demo_secret_lost", detail, "Use another folder: --data-dir.") from None

    def _ensure_challenge(self, organizer: Client, slug: str, description: Json) -> None:
        try:
            organizer.challenge(slug)
        except ApiError as error:
            if error.code != "not_found":
                raise
            organizer.create_challenge(description)
            self._describe(organizer, slug)
            self.report_step(f"Created the challenge {slug}.")
        try:
            gold = organizer.upload_gold(slug, PHASE, self.folder / "gold.jsonl.gz", activate=True)
        except ApiError as error:
            if error.code != "reason_required":  # something was submitted, so the gold is there
                raise
        else:
            self.report_step(f"Uploaded gold labels of {gold.get('instances', 'all')} instances.")
        organizer.template(slug, PHASE, "csv")  # From now on, the page shows its first ids in an example.

    def _describe(self, organizer: Client, slug: str) -> None:
        """Offer the files of the challenge, and announce it."""
        for name, about in FILES.items():
            organizer.upload_file(slug, self.folder / name, licence=LICENCE, description=about)
        for title, body in ANNOUNCEMENTS.items():
            organizer.post_announcement(slug, title, body)

    def _submit_system(self, administrator: Client, slug: str, system: dict[str, Any]) -> None:
        """Sign up, register and submit as one team, and wait for the score."""
        team, method = str(system["team"]), str(system["method"])
        with self._sign_in_account(administrator, f"{team.lower()}@digits.example", f"Team {team}") as participant:
            try:
                participant.register(slug, team)
            except ApiError as error:
                if error.code != "already_registered":
                    raise
            statuses = [
                row.get("status") for row in participant.submissions(slug, PHASE) if row.get("method") == method
            ]
            if "finished" in statuses:
                return
            submission = participant.submit(
                slug,
                self.folder / str(system["file"]),
                method=method,
                description=str(system["description"]),
                phase=PHASE,
                wait=SCORING_TIMEOUT_SECONDS,
                # A new key for each attempt: a used one would return the earlier submission, which failed.
                idempotency_key=f"demo-{team.lower()}-{sum(status in FINAL for status in statuses)}",
            )
        if submission.get("status") != "finished":
            detail = f"The submission of team {team} ended with status {submission.get('status')}."
            raise CommandError("demo_failed", detail, "See the log of the service.")
        self.report_step(f"Team {team} submitted {system['file']} ({system['format']}).")
