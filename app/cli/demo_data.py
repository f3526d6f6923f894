"""Loads the digits challenge into a running service through its public API; loading it again changes nothing."""

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
SCORING_TIMEOUT_SECONDS = 120.0  # seconds for one submission; it takes a fraction of one


def demo_secret(data_dir: Path) -> bytes:
    """The random secret from which the passwords of this folder's demonstration accounts follow; made once, mode 600."""
    path = data_dir / "demo-secret"
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return bytes.fromhex(path.read_text("ascii"))
    with os.fdopen(handle, "w", encoding="ascii") as stream:
        stream.write(secrets.token_hex(32))
    return bytes.fromhex(path.read_text("ascii"))


@dataclass(frozen=True)
class DemoLoader:
    """Where to load what: the service, its administrator, the example folder, and the secret of the passwords."""

    url: str
    admin_token: str
    folder: Path
    secret: bytes
    report_step: Callable[[str], None]

    def load(self) -> Json:
        """Create what is missing (accounts, challenge, gold, teams, submissions) and give the board."""
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
        """A client of the account, which is made if it is missing; its token ends with the block."""
        digest = hmac.digest(self.secret, email.encode(), hashlib.sha256)
        password = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        try:
            administrator.sign_up(email, name, password, approved=approved)
        except ApiError as error:
            if error.code != "email_taken":
                raise
        made = self._create_token(email, password)
        with Client(self.url, str(made["token"])) as client:
            try:
                yield client
            finally:
                client.revoke_token(str(made["id"]))

    def _create_token(self, email: str, password: str) -> Json:
        with Client(self.url) as visitor:
            try:
                return visitor.create_token(email, password)
            except ApiError as error:
                if error.code != "wrong_password":
                    raise
                detail = f"The account {email} exists, but its secret is not in this data folder."
                raise CommandError("demo_secret_lost", detail, "Take another folder: --data-dir.") from None

    def _ensure_challenge(self, organizer: Client, slug: str, description: Json) -> None:
        try:
            organizer.challenge(slug)
        except ApiError as error:
            if error.code != "not_found":
                raise
            organizer.create_challenge(description)
            self.report_step(f"Created the challenge {slug}.")
        try:
            gold = organizer.upload_gold(slug, PHASE, self.folder / "gold.jsonl.gz", activate=True)
        except ApiError as error:
            if error.code != "gold_active":
                raise
        else:
            self.report_step(f"Uploaded the true labels of {gold.get('instances', 'all')} instances.")

    def _submit_system(self, administrator: Client, slug: str, system: dict[str, Any]) -> None:
        """One team: sign up, register, hand in, wait for the score."""
        team, method = str(system["team"]), str(system["method"])
        with self._sign_in_account(administrator, f"{team.lower()}@digits.example", f"Team {team}") as participant:
            try:
                participant.register(slug, team)
            except ApiError as error:
                if error.code != "already_registered":
                    raise
            earlier = [one for one in participant.submissions(slug, PHASE) if one.get("method") == method]
            if any(one.get("status") == "finished" for one in earlier):
                return
            handed_in = participant.submit(
                slug,
                self.folder / str(system["file"]),
                method=method,
                description=str(system["description"]),
                phase=PHASE,
                wait=SCORING_TIMEOUT_SECONDS,
                # A submission that failed is not to be met again under the same key.
                idempotency_key=f"demo-{team.lower()}-{sum(one.get('status') in FINAL for one in earlier)}",
            )
        if handed_in.get("status") != "finished":
            detail = f"The submission of team {team} ended as {handed_in.get('status')}."
            raise CommandError("demo_failed", detail, "The log of the service says more.")
        self.report_step(f"Team {team} handed in {system['file']} ({system['format']}).")
