"""Ask witnesses to cosign the last checkpoint (C2SP tlog-witness), outside of transactions and of sequencing."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import structlog

from app.actions.transparency.sequence_records import stored_nodes
from app.settings import Settings
from app.store import locks
from app.store.queries import log_trees
from app.store.session import Database
from app.tlog.checkpoint import Checkpoint, parse_size, read_checkpoint
from app.tlog.merkle import ProofRefused, consistency_proof
from app.tlog.note import Note, NoteRefused, Signature, VerifierKey, parse_signatures, parse_witness_key
from app.tlog.note import valid_signatures as valid
from app.tlog.proof import witness_request

if TYPE_CHECKING:
    import httpx

log = structlog.get_logger()

TIMEOUT_SECONDS = 5.0
MAX_REPLY_BYTES = 64 * 1024
FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 5.0, 300.0
SIZE_TYPE = "text/x.tlog.size"


@dataclass
class Witness:
    """A witness, the size that it cosigned last, and when it is asked again after a failure."""

    address: str
    key: VerifierKey
    size: int = 0
    pause: float = 0.0
    not_before: float = field(default=0.0)

    def failed(self, now: float) -> None:
        """Wait longer after each failure."""
        self.pause = min(MAX_PAUSE_SECONDS, max(FIRST_PAUSE_SECONDS, 2 * self.pause))
        self.not_before = now + self.pause


def parse_witnesses(setting: str) -> list[Witness]:
    """The witnesses of the setting; raises NoteRefused for a key that is none of a witness."""
    found = []
    for each in filter(None, (part.strip() for part in setting.split(","))):
        address, _, vkey = each.partition(" ")
        found.append(Witness(address.rstrip("/"), parse_witness_key(vkey)))
    return found


class Witnesses:
    """The configured witnesses, asked one after the other; one that is away costs its timeout at most."""

    def __init__(self, db: Database, settings: Settings) -> None:
        """Raises NoteRefused for a key that is none of a witness."""
        self.configured = parse_witnesses(settings.log_witnesses)
        self._db = db
        self._http: httpx.Client | None = None

    def cosign_latest(self) -> None:
        """Have the last checkpoint cosigned by those that have not; its note then carries their signatures."""
        now = time.monotonic()
        with self._db.read() as session:
            origin = log_trees.active_origin(session)
            row = None if origin is None else log_trees.latest_checkpoint(session, origin.id)
        if origin is None or row is None:
            return
        note, checkpoint = read_checkpoint(row.note)
        due = [each for each in self._missing(note) if now >= each.not_before]
        for witness in due:
            try:
                signatures = self._ask(origin.id, witness, note, checkpoint)
            except (OSError, ValueError, ProofRefused, NoteRefused) as error:
                witness.failed(time.monotonic())
                log.warning("witness_failed", witness=witness.key.name, reason=str(error))
                continue
            if signatures:
                witness.size, witness.pause = checkpoint.size, 0.0
                self._store(origin.id, checkpoint.size, signatures)

    def _missing(self, note: Note) -> Iterable[Witness]:
        return [each for each in self.configured if not any(line.is_by(each.key) for line in note.signatures)]

    def _ask(self, origin_id: str, witness: Witness, note: Note, checkpoint: Checkpoint) -> list[Signature]:
        """The cosignatures of a witness; where it knows another size than expected, it is asked again from there."""
        reply = self._post(origin_id, witness, note, checkpoint)
        if reply.status_code == 409 and reply.headers.get("content-type", "").startswith(SIZE_TYPE):
            size = parse_size(reply.text.strip())
            if size is None or size > checkpoint.size:
                raise ValueError(f"it has cosigned {reply.text.strip()[:20]!r} entries, this log has {checkpoint.size}")
            witness.size = size
            reply = self._post(origin_id, witness, note, checkpoint)
        if reply.status_code != 200:
            raise ValueError(f"it answered {reply.status_code}: {reply.text[:200]}")
        signatures = valid(checkpoint.text, parse_signatures(reply.text), [witness.key])
        if not signatures:
            raise NoteRefused("None of its signatures is valid.")
        return signatures

    def _post(self, origin_id: str, witness: Witness, note: Note, checkpoint: Checkpoint) -> "httpx.Response":
        import httpx  # noqa: PLC0415 - only for installations with witnesses

        if self._http is None:
            self._http = httpx.Client(timeout=TIMEOUT_SECONDS)
        with self._db.read() as session:
            nodes = stored_nodes(session, origin_id, checkpoint.size)
            proof = consistency_proof(min(witness.size, checkpoint.size), checkpoint.size, nodes)
        body = witness_request(min(witness.size, checkpoint.size), proof, note)
        try:
            reply = self._http.post(f"{witness.address}/add-checkpoint", content=body.encode())
        except httpx.HTTPError as error:
            raise OSError(f"it does not answer: {error!r}") from error
        if len(reply.content) > MAX_REPLY_BYTES:
            raise ValueError("its answer is too long")
        return reply

    def _store(self, origin_id: str, size: int, signatures: Iterable[Signature]) -> None:
        with self._db.write() as session:
            locks.sequencer(session)
            row = log_trees.checkpoint_of_size(session, origin_id, size)
            if row is not None:
                row.note = str(read_checkpoint(row.note)[0].with_signatures(signatures))
