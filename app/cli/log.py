"""Commands about the transparency log: show it, get proofs, and verify them."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.connection import connect_client
from app.cli.options import AsJson, Slug, Token, Url
from app.cli.terminal.log_tables import show_log_records
from app.cli.terminal.output import CommandError, CommandOutput, command_output

if TYPE_CHECKING:
    from app.client import Client
    from app.tlog.checkpoint import Checkpoint
    from app.tlog.note import VerifierKey

_Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", dir_okay=False, help="File to write (default: standard output)."),
]
Check = dict[str, str]


def _file(name: str, help: str) -> Any:  # noqa: A002 (typer's own word)
    return typer.Option(name, metavar="FILE", dir_okay=False, help=help)


def show_log(*, url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """Show the transparency log of a service: its origin, verifier key, size and last checkpoint."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        logs = client.logs()

        def show(_: object) -> None:
            for log in logs or ():
                out.say(f"{log['origin']}{'' if log['ended_at'] is None else '  (ended)'}")
                out.say(f"  key      {log['vkey']}")
                out.say(f"  entries  {log['size']}{'' if log['signed_at'] is None else ', signed ' + log['signed_at']}")
            if not logs:
                out.say("The service has no log yet.")

        out.result(logs, show)


def get_checkpoint(*, output: _Output = None, url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """Get the last checkpoint of the transparency log; keep it, to compare it with later ones."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        _write(out, _source_of(client, None)("checkpoint"), output)


def list_records(*, slug: Slug, url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """List what the transparency log fixes about a challenge: gold, switches of boards, releases and frozen boards."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        found = list(client.log_records(slug))
        out.result(found, lambda console: show_log_records(console, found))


def get_proof(
    submission: Annotated[
        str | None, typer.Argument(metavar="[SUBMISSION]", help="Submission with the receipt.")
    ] = None,
    *,
    split: Annotated[
        str | None, typer.Option("--split", metavar="SPLIT", help="all, public or private (default: what you see).")
    ] = None,
    gold_version: Annotated[
        int | None, typer.Option("--gold-version", metavar="N", min=1, help="Gold version (default: that in force).")
    ] = None,
    recipe_version: Annotated[
        int | None,
        typer.Option("--recipe-version", metavar="N", min=1, help="Recipe version (default: that in force)."),
    ] = None,
    entry: Annotated[
        str | None, typer.Option("--entry", metavar="ID", help="Instead of a receipt: an entry of the audit trail.")
    ] = None,
    record: Annotated[
        str | None,
        typer.Option("--record", metavar="ID", help="Instead of a receipt: a record of 'assay log records'."),
    ] = None,
    challenge: Annotated[
        str | None,
        typer.Option("--challenge", metavar="SLUG", help="Of --entry or --record (default: an entry of the site)."),
    ] = None,
    output: _Output = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Get the proof that a receipt, an entry of the audit trail or a record of a challenge is in the transparency log."""
    if [submission, entry, record].count(None) != 2:
        raise typer.BadParameter("name one of a submission, --entry and --record", param_hint="SUBMISSION")
    if record is not None and challenge is None:
        raise typer.BadParameter("needs --challenge", param_hint="--record")
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        if record is not None:
            content = client.log_record_proof(challenge or "", record)
        elif entry is not None:
            content = client.audit_proof(entry, challenge)
        else:
            of = {"gold_version": gold_version, "recipe_version": recipe_version}
            content = client.receipt_proof(submission or "", split=split, **of)
        _write(out, content, output)


def _write(out: CommandOutput, content: bytes, target: Path | None) -> None:
    text = content.decode()
    if target is None:
        out.result({"content": text}, lambda _: out.console.print(text, end="", soft_wrap=True))
        return
    target.write_bytes(content)
    saved = {"file": str(target), "size": len(content)}
    out.result(saved, lambda _: out.say(f"Wrote {target} ({len(content)} bytes)."))


def verify_log(
    *,
    proof: Annotated[Path | None, _file("--proof", "Verify this proof, offline; needs --key.")] = None,
    receipt: Annotated[Path | None, _file("--receipt", "With --proof: the receipt that it has to be about.")] = None,
    old: Annotated[Path | None, _file("--old", "Verify that this checkpoint is an earlier state of --new.")] = None,
    new: Annotated[Path | None, _file("--new", "The later checkpoint (default: the one that is served).")] = None,
    tiles: Annotated[
        Path | None,
        typer.Option(
            "--tiles", metavar="FOLDER", file_okay=False, help="Copy of the log to read instead of a service."
        ),
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", metavar="VKEY", help="Verifier key of the log that you trust.")
    ] = None,
    witness: Annotated[
        list[str] | None, typer.Option("--witness", metavar="VKEY", help="Require a cosignature by it; repeatable.")
    ] = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Verify a proof of a receipt, the consistency of two checkpoints, or the whole transparency log of a service.

    Without --proof and --old all entries and tiles are read, and the root is computed again. Without --key the key is
    the one that the service names itself, which shows that its log is sound, but not that others see the same log.
    """
    if receipt is not None and proof is None:
        raise typer.BadParameter("needs --proof", param_hint="--receipt")
    if new is not None and old is None:
        raise typer.BadParameter("needs --old", param_hint="--new")
    if (proof is not None or tiles is not None) and key is None:
        raise typer.BadParameter("required: nothing is proved by a key that you do not know", param_hint="--key")
    with command_output(as_json=as_json) as out:
        from app.tlog.note import parse_log_key, parse_witness_key

        witnesses = [parse_witness_key(each) for each in witness or ()]
        if proof is not None:
            _report(out, *_verify_proof(proof, receipt, parse_log_key(key or ""), witnesses))
            return
        checkpoints: dict[str, Any] = {"old": old, "new": new, "witnesses": witnesses}
        if tiles is not None:
            folder = tiles
            _report(out, *_verify_tree(out, _Source(lambda path: _read(folder / path)), key, **checkpoints))
            return
        with connect_client(out, url, token) as client:
            _report(out, *_verify_tree(out, _source_of(client, key), key, **checkpoints))


class _Source:
    """Where files of a log come from, and the key that goes with them."""

    def __init__(self, fetch: Callable[[str], bytes], vkey: str | None = None) -> None:
        self.vkey = vkey
        self._fetch = fetch
        self._kept: dict[str, bytes] = {}

    def __call__(self, path: str) -> bytes:
        """The file at a path; each is fetched once."""
        if path not in self._kept:
            self._kept[path] = self._fetch(path)
        return self._kept[path]


def _source_of(client: "Client", key: str | None) -> _Source:
    """The log of a service that has the key, or the one that grows."""
    logs = client.logs()
    if not logs:
        raise CommandError("no_log", "The service has no transparency log yet.", "Try again in some seconds.")
    found = logs[0] if key is None else next((each for each in logs if each["vkey"] == key), None)
    if found is None:
        remedy = "Ask the organizers for the key. If they have renewed the log, verify it with its new key."
        raise CommandError("other_key", "The service has no log with this verifier key.", remedy)
    label = str(found["origin"]).rpartition("/log")[2].strip("/") or None
    return _Source(lambda path: client.log_file(path, label), found["vkey"])


def _verify_proof(
    proof: Path, receipt: Path | None, key: "VerifierKey", witnesses: "list[VerifierKey]"
) -> tuple[list[Check], dict[str, Any]]:
    from app.tlog.proof import parse_proof
    from app.tlog.verification import verify_record

    proved = verify_record(parse_proof(_read(proof).decode(errors="replace")), key, witnesses)
    where = f"position {proved.index} of {proved.checkpoint.size} in {proved.checkpoint.origin}"
    checks = [_ok("inclusion", f"The record is at {where}.")]
    if receipt is not None:
        _require_receipt(proved.record, _read(receipt))
        checks.append(_ok("receipt", "The record is of this receipt."))
        checks.append(_skipped("signature", "That of the receipt: 'assay receipt verify' checks it."))
    else:
        checks.append(_skipped("receipt", "Only with --receipt."))
    checks.append(_witnesses(witnesses))
    facts = {"index": proved.index, "record": proved.record}
    return checks, facts | _facts(proved.checkpoint)


def _require_receipt(record: dict[str, Any], envelope: bytes) -> None:
    """Raise CommandError unless a record of the log is of this receipt."""
    import hashlib

    from app.receipts.dsse import ReceiptRefused, decode_envelope

    try:
        payload = decode_envelope(envelope).payload
    except ReceiptRefused as refused:
        raise CommandError(f"receipt_{refused.code}", f"The receipt cannot be read. {refused.detail}") from None
    if record.get("receipt_sha256") != hashlib.sha256(payload).hexdigest():
        remedy = (
            "Get the proof of this receipt: 'assay log proof' with the --split, --gold-version and --recipe-version "
        )
        remedy += "that the receipt states. The defaults are those in force now."
        raise CommandError("other_receipt", "The proof is of another receipt, or of something else.", remedy)


def _verify_tree(
    out: CommandOutput,
    source: _Source,
    key: str | None,
    *,
    old: Path | None,
    new: Path | None,
    witnesses: "list[VerifierKey]",
) -> tuple[list[Check], dict[str, Any]]:
    from app.tlog import verification
    from app.tlog.note import parse_log_key

    trusted = parse_log_key(key or source.vkey or "")
    content = source("checkpoint") if new is None else _read(new)
    latest = verification.verified_checkpoint(content.decode(errors="replace"), trusted, witnesses)
    checks = [_ok("checkpoint", f"Signed by {trusted.name}+{trusted.key_id.hex()}.")]
    if key is None:
        checks.append(_skipped("key", "The service names it itself: compare it with a published one, or use --key."))
    if old is not None:
        earlier = verification.verified_checkpoint(_read(old).decode(errors="replace"), trusted)
        verification.verify_growth(earlier, latest, source)
        checks.append(_ok("consistency", f"The first {earlier.size} of {latest.size} entries are the same."))
        checks.append(_skipped("entries", "Only without --old, which reads the tiles that it needs."))
    else:
        with out.count_bar("Reading the log") as advance:
            verification.verify_log(latest, source, advance)
        checks.append(_ok("entries", f"The {latest.size} entries give the root of the checkpoint."))
        checks.append(_skipped("consistency", "Only with --old, a checkpoint from before."))
    return [*checks, _witnesses(witnesses)], _facts(latest)


def _facts(checkpoint: "Checkpoint") -> dict[str, Any]:
    return {"origin": checkpoint.origin, "size": checkpoint.size, "root": checkpoint.root.hex()}


def _ok(name: str, detail: str) -> Check:
    return {"name": name, "state": "ok", "detail": detail}


def _skipped(name: str, detail: str) -> Check:
    return {"name": name, "state": "skipped", "detail": detail}


def _witnesses(required: "list[VerifierKey]") -> Check:
    """Whether the checkpoint has the cosignatures that were required, which others have verified by now."""
    if not required:
        return _skipped("witnesses", "Only with --witness: others may be shown another log.")
    return _ok("witnesses", f"Cosigned by {', '.join(each.name for each in required)}.")


def _report(out: CommandOutput, checks: list[Check], facts: dict[str, Any]) -> None:
    def show(_: object) -> None:
        for check in checks:
            out.say(f"{check['name'] + ':':<13}{check['state']:<9}{check['detail']}")
        if "record" in facts:
            out.say("The record:")
            for name, value in facts["record"].items():
                out.say(f"  {name}: {value}")

    out.result({"valid": True, "checks": checks, **facts}, show)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CommandError("unreadable", f"{path} cannot be read: {error.strerror}.") from None
