"""The transparency log after a storm, as a stranger verifies it: all entries are there, and give the signed root."""

import httpx

from app.actions.transparency.sequence_records import is_up_to_date
from app.errors import AssayError
from app.store.session import Database
from app.tlog.note import parse_verifier_key
from app.tlog.verification import verified_checkpoint, verify_log
from tests.live_service import eventually
from tests.storm.deployments import Deployment


def faults_of_log(site: Deployment) -> list[str]:
    """What is wrong with the log that the service serves, once no record waits any more; empty if nothing is."""
    database = Database(site.settings)

    def is_complete() -> bool:
        with database.read() as session:
            return is_up_to_date(session)

    try:
        eventually(is_complete, "the transparency log has all records")
    finally:
        database.close()
    with httpx.Client(base_url=site.apis[-1].url, timeout=60) as client:
        (log,) = client.get("/api/v1/log").raise_for_status().json()["logs"]
        try:
            checkpoint = verified_checkpoint(client.get("/log/checkpoint").text, parse_verifier_key(log["vkey"]))
            verify_log(checkpoint, lambda path: client.get(f"/log/{path}").raise_for_status().content)
        except (AssayError, httpx.HTTPError) as error:
            return [f"The transparency log: {error}"]
    return []
