"""Commands about receipts: get one, get the public keys, and verify one offline."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.connection import connect_client
from app.cli.input import value_parsing
from app.cli.options import (
    AsJson,
    GoldLayout,
    Layout,
    SubmissionId,
    Token,
    Url,
    VoidIds,
    file_option,
    gold_metadata_options,
)
from app.cli.terminal.output import EXIT_FAILED, CommandError, CommandOutput, command_output

if TYPE_CHECKING:
    from app.analysis.recompute_receipt import ReceiptCheck
    from app.receipts.verification import VerifiedReceipt

_NONCE_DIGITS = 64
_Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", dir_okay=False, help="File to write (default: standard output)."),
]


def get_receipt(
    *,
    submission: SubmissionId,
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
    output: _Output = None,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Get the receipt of a submission."""
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        of = {"gold_version": gold_version, "recipe_version": recipe_version}
        _write(out, client.receipt(submission, split=split, **of), output)


def get_keys(*, output: _Output = None, url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """Get the public keys with which a service signs or signed receipts.

    Whoever verifies a receipt has to know that the keys are those of the service: get them from there, over https.
    """
    with command_output(as_json=as_json) as out, connect_client(out, url, token) as client:
        _write(out, client.receipt_keys(), output)


def _write(out: CommandOutput, content: bytes, target: Path | None) -> None:
    """Write a JSON document as it came to a file, else to standard output."""
    import json

    if target is None:
        out.result(json.loads(content), lambda console: console.print(content.decode(), soft_wrap=True, markup=False))
        return
    target.write_bytes(content)
    saved = {"file": str(target), "size": len(content)}
    out.result(saved, lambda _: out.say(f"Wrote {target} ({len(content)} bytes)."))


@gold_metadata_options()
def verify_receipt(
    *,
    receipt: Annotated[Path, typer.Argument(metavar="RECEIPT", help="The receipt, a file.")],
    keys: Annotated[
        str | None,
        typer.Option("--keys", metavar="JWKS", help="Public keys that you trust: a file, or its https URL."),
    ] = None,
    gold: Annotated[Path | None, file_option("--gold", help="Gold, to compute the scores again.")] = None,
    predictions: Annotated[Path | None, file_option("--predictions", help="Predictions of the submission.")] = None,
    gold_opening: Annotated[
        str | None,
        typer.Option("--gold-opening", metavar="NONCE", help="Nonce of the commitment to the gold, 64 hex digits."),
    ] = None,
    gold_metadata: Mapping[str, Path | None],
    void: VoidIds = None,
    layout: Layout = None,
    gold_layout: GoldLayout = None,
    as_json: AsJson = False,
) -> None:
    """Verify a receipt offline: its signature, and with the files the digests, the commitment and the scores.

    Only keys that you name are trusted. The signature shows who stated the scores; with gold and predictions the scores
    are computed again.
    """
    nonce = _checked_nonce(gold_opening, gold)
    if keys is None:
        raise typer.BadParameter("required: a receipt is verified with keys that you trust", param_hint="--keys")
    if predictions is not None and gold is None:
        raise typer.BadParameter("needs --gold", param_hint="--predictions")
    if gold is not None and predictions is None and nonce is None:
        raise typer.BadParameter("needs --predictions or --gold-opening to compare with it", param_hint="--gold")
    with command_output(as_json=as_json) as out:
        verified = _verify_signature(receipt, keys)
        checks: list[ReceiptCheck] = []
        if gold is not None:
            from app.analysis.recompute_receipt import GoldFiles, check_files

            metadata = value_parsing.read_gold_metadata(gold_metadata)
            named = {name.replace("-", "_"): value for name, value in metadata.items()}
            void_ids = () if void is None else value_parsing.read_strings(void)
            files = GoldFiles(value_parsing.make_source(gold, gold_layout), named, void_ids)
            source = None if predictions is None else value_parsing.make_source(predictions, layout)
            checks = check_files(verified, files, source, nonce)
        _report(out, verified, checks)


def _checked_nonce(text: str | None, gold: Path | None) -> bytes | None:
    """The nonce of a commitment; refuses another length than 32 bytes."""
    if text is None:
        return None
    try:
        nonce = bytes.fromhex(text)
    except ValueError:
        nonce = b""
    if len(text) != _NONCE_DIGITS or len(nonce) * 2 != _NONCE_DIGITS:
        raise typer.BadParameter("a nonce has 32 bytes: 64 hexadecimal digits", param_hint="--gold-opening")
    if gold is None:
        raise typer.BadParameter("needs --gold", param_hint="--gold-opening")
    return nonce


def _verify_signature(receipt: Path, keys: str) -> "VerifiedReceipt":
    """The receipt, once one of the keys verified it; raises CommandError."""
    from app.receipts.dsse import ReceiptRefused
    from app.receipts.jwk import parse_key_set
    from app.receipts.verification import verify_receipt as verify

    try:
        return verify(_read(receipt), parse_key_set(read_keys(keys)))
    except ReceiptRefused as refused:
        remedy = "Get the receipt again, and the keys as well: keys that sign later receipts are added to them."
        raise CommandError(f"receipt_{refused.code}", f"The receipt is not valid. {refused.detail}", remedy) from None


def read_keys(place: str) -> bytes:
    """The key set in a file or at an address; raises CommandError."""
    if not place.startswith(("https://", "http://")):
        return _read(Path(place))
    import httpx

    try:
        return httpx.get(place, follow_redirects=True, timeout=30).raise_for_status().content
    except httpx.HTTPError as error:
        raise CommandError("keys_unreachable", f"The keys at {place} cannot be read: {error}.") from None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CommandError("unreadable", f"{path} cannot be read: {error.strerror}.") from None


def _report(out: CommandOutput, receipt: "VerifiedReceipt", checks: "list[ReceiptCheck]") -> None:
    """Print the verdict of each check and what the receipt states; exit with status 1 if a check failed."""
    failed = any(check.state == "failed" for check in checks)
    predicate = receipt.predicate
    value: dict[str, Any] = {
        "valid": not failed,
        "key": receipt.key_id,
        "payload_sha256": receipt.payload_sha256,
        "checks": [
            {"name": "signature", "state": "ok", "detail": f"Signed by the key {receipt.key_id}."},
            *({"name": check.name, "state": check.state, "detail": check.detail} for check in checks),
        ],
        "statement": dict(receipt.statement),
    }

    def show(_console: object) -> None:
        for check in value["checks"]:
            out.say(f"{check['name'] + ':':<12}{check['state']:<9}{check['detail']}")
        out.say(
            f"The receipt states for submission {predicate['submission']} of team {predicate['team']} in "
            f"{predicate['challenge']}/{predicate['phase']}, split {predicate['split']}, gold version "
            f"{predicate['gold_version']}, scored at {predicate['evaluatedAt']}:"
        )
        for claim in predicate["claims"]:
            out.say(f"  {claim['metric']}: {'null' if claim['value'] is None else claim['value']}")

    out.result(value, show)
    if failed:
        raise typer.Exit(EXIT_FAILED)
