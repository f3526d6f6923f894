"""Signed notes, checkpoints and proofs against published vectors, and against changed bytes."""

import base64
import hashlib
from collections.abc import Sequence
from itertools import combinations

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from app.tlog.checkpoint import Checkpoint, parse_checkpoint, read_checkpoint
from app.tlog.merkle import ProofRefused
from app.tlog.note import (
    COSIGNATURE,
    ED25519,
    Note,
    NoteRefused,
    Signature,
    VerifierKey,
    cosigned_message,
    parse_log_key,
    parse_note,
    parse_signatures,
    parse_verifier_key,
    parse_witness_key,
    sign_text,
    valid_signatures,
)
from app.tlog.proof import LogProof, parse_proof, witness_request
from app.tlog.verification import verify_record
from tests.tlog.published_vectors import (
    MISFIT_VKEYS,
    NOTE_TEXT,
    OTHER_SIGNATURE,
    OTHER_VKEY,
    SIGNATURE,
    SIGNER,
    SIGNER_SEED,
    VKEY,
)
from tests.tlog.recursive_tree import mth, path

CHECKPOINT = """\
example.com/behind-the-sofa
20852163
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
"""
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = KEY.public_key().public_bytes_raw()
ORIGIN = "scores.example.org/log"
LOG_KEY = VerifierKey(ORIGIN, ED25519, PUBLIC)


def signed(checkpoint: Checkpoint) -> Note:
    """The checkpoint as a note of the log."""
    return Note(checkpoint.text, (sign_text(checkpoint.text, ORIGIN, KEY),))


def cosign(text: str, time: int) -> Signature:
    """A cosignature as a witness makes it."""
    witness = VerifierKey("witness.example/w1", COSIGNATURE, PUBLIC)
    signature = time.to_bytes(8) + KEY.sign(cosigned_message(text, time))
    return Signature(witness.name, witness.key_id, signature)


def test_a_note_is_signed_as_by_go() -> None:
    """The key of Go's tests gives its signature."""
    key = Ed25519PrivateKey.from_private_bytes(base64.b64decode(SIGNER_SEED)[1:])
    note = Note(NOTE_TEXT, (sign_text(NOTE_TEXT, SIGNER, key),))
    assert str(note) == f"{NOTE_TEXT}\n{SIGNATURE}"
    assert str(VerifierKey(SIGNER, ED25519, key.public_key().public_bytes_raw())) == VKEY


def test_a_note_is_verified_as_by_go() -> None:
    """Known keys verify, unknown ones are ignored, a wrong signature of a known one is refused."""
    peter, enoch = parse_verifier_key(VKEY), parse_verifier_key(OTHER_VKEY)
    note = parse_note(f"{NOTE_TEXT}\n{SIGNATURE}{OTHER_SIGNATURE}")
    assert note.signed_by([peter, enoch]) == [peter, enoch]
    assert note.signed_by([peter]) == [peter]
    assert Note(note.text, note.signatures[1:]).signed_by([peter]) == []
    with pytest.raises(NoteRefused):
        Note(note.text.replace("answer", "question"), note.signatures).signed_by([peter])
    with pytest.raises(NoteRefused):
        Note(note.text, note.signatures[1:]).require_signature(peter)


def test_every_part_of_a_verifier_key_counts() -> None:
    """As in Go's tests: no part of a key is a key, nor one with a byte changed."""
    assert str(parse_verifier_key(VKEY)) == VKEY
    parts = [VKEY[first:last] for first, last in combinations(range(len(VKEY) + 1), 2) if last - first < len(VKEY)]
    changed = [VKEY[:place] + chr(ord(VKEY[place]) + 1) + VKEY[place + 1 :] for place in range(len(VKEY))]
    for wrong in (*parts, *changed, *MISFIT_VKEYS):
        with pytest.raises(NoteRefused):
            parse_verifier_key(wrong)


@pytest.mark.parametrize(
    "content",
    [
        NOTE_TEXT,
        f"{NOTE_TEXT}\n",
        f"{NOTE_TEXT}\n{SIGNATURE[:-1]}",
        f"\x01{NOTE_TEXT}\n{SIGNATURE}",
        f"{NOTE_TEXT}\n{SIGNATURE}Unexpected line.\n",
        f"{NOTE_TEXT}\n{SIGNATURE.replace('PeterNeumann', 'Bad Name')}",
        f"{NOTE_TEXT}\n{SIGNATURE.replace('=', '')}",
        f"{NOTE_TEXT}\n{SIGNATURE * 101}",
    ],
)
def test_other_texts_are_no_notes(content: str) -> None:
    """The malformed notes of Go's tests."""
    with pytest.raises(NoteRefused):
        parse_note(content)


def test_the_specifications_checkpoint() -> None:
    """The example of tlog-checkpoint round-trips."""
    note, checkpoint = read_checkpoint(CHECKPOINT)
    assert (checkpoint.origin, checkpoint.size) == ("example.com/behind-the-sofa", 20852163)
    assert str(Note(checkpoint.text, note.signatures)) == CHECKPOINT


@pytest.mark.parametrize(
    "text", ["a\n1\n", "a\n01\n" + "A" * 44 + "\n", "a\n-1\nAA==\n", "\n1\nAA==\n", "a\n1\nAA==\n"]
)
def test_other_texts_are_no_checkpoints(text: str) -> None:
    """Sizes and roots have one way of writing."""
    with pytest.raises(NoteRefused):
        parse_checkpoint(text)


def test_cosignatures() -> None:
    """A witness's signature counts with its time; a changed one is left out, or refused in a checkpoint."""
    witness = VerifierKey("witness.example/w1", COSIGNATURE, PUBLIC)
    text = read_checkpoint(CHECKPOINT)[1].text
    good = cosign(text, 1679315147)
    assert cosigned_message(text, 1679315147).startswith(b"cosignature/v1\ntime 1679315147\nexample.com/behind")
    later = Signature(good.name, good.key_id, (1679315148).to_bytes(8) + good.signature[8:])
    assert valid_signatures(text, [later, good, cosign("other\n", 1)], [witness]) == [good]
    assert parse_signatures(f"{good}\n") == (good,)
    note = parse_note(CHECKPOINT).with_signatures([good])
    assert len(note.signatures) == 2
    assert note.with_signatures([good]) == note
    assert note.signed_by([witness]) == [witness]
    with pytest.raises(NoteRefused):
        parse_note(CHECKPOINT).with_signatures([later]).signed_by([witness])


def proof_of(index: int, entries: Sequence[bytes], extra: bytes | None = b"salt and record") -> LogProof:
    """A proof of an entry of these."""
    checkpoint = Checkpoint(ORIGIN, len(entries), mth(entries))
    return LogProof(index, tuple(path(index, entries)), signed(checkpoint), checkpoint, extra)


@given(st.integers(1, 20), st.data(), st.none() | st.binary())
def test_proofs_round_trip_and_verify(size: int, data: st.DataObject, extra: bytes | None) -> None:
    """A proof in a file is the same proof, and shows its own entry alone."""
    entries = [bytes([number]) * 32 for number in range(size)]
    index = data.draw(st.integers(0, size - 1))
    proof = proof_of(index, entries, extra)
    assert parse_proof(str(proof)) == proof
    proof.verify(entries[index], LOG_KEY)
    with pytest.raises(ProofRefused):
        proof.verify(b"another", LOG_KEY)
    with pytest.raises(NoteRefused):
        proof.verify(entries[index], VerifierKey("another.example/log", ED25519, PUBLIC))
    other = Checkpoint("another.example/log", size, mth(entries))
    with pytest.raises(NoteRefused):
        LogProof(index, proof.hashes, signed(other), other).verify(entries[index], LOG_KEY)


@given(st.data())
def test_a_changed_file_is_refused(data: st.DataObject) -> None:
    """Whatever character of a proof changes, it does not verify, or is none (the extra data is not authenticated here)."""
    entries = [bytes([number]) * 32 for number in range(5)]
    content = str(proof_of(3, entries, extra=None))
    place = data.draw(st.integers(0, len(content) - 1))
    character = data.draw(st.sampled_from("A0 \n+=—").filter(lambda each: each != content[place]))
    with pytest.raises((NoteRefused, ProofRefused)):
        parse_proof(content[:place] + character + content[place + 1 :]).verify(entries[3], LOG_KEY)


def test_a_request_to_a_witness() -> None:
    """The body has the old size, the proof, an empty line and the checkpoint, as in tlog-witness."""
    note = parse_note(CHECKPOINT)
    assert witness_request(0, [], note) == f"old 0\n\n{CHECKPOINT}"
    assert witness_request(7, [bytes(32)], note) == f"old 7\n{base64.b64encode(bytes(32)).decode()}\n\n{CHECKPOINT}"


def test_a_log_does_not_stand_for_its_own_witness() -> None:
    log, witness = (str(VerifierKey("keys.example/a", kind, PUBLIC)) for kind in (ED25519, COSIGNATURE))
    assert parse_log_key(log) == parse_verifier_key(log)
    assert parse_witness_key(witness) == parse_verifier_key(witness)
    with pytest.raises(NoteRefused, match="0x04"):
        parse_witness_key(log)
    with pytest.raises(NoteRefused, match="0x01"):
        parse_log_key(witness)


def test_a_record_that_nests_too_deeply_is_refused() -> None:
    extra = bytes(32) + b"[" * 100_000
    proof = proof_of(0, [hashlib.sha256(extra).digest()], extra)
    with pytest.raises(NoteRefused, match="not JSON"):
        verify_record(proof, LOG_KEY)
