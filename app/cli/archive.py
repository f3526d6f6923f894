"""The command that checks an archive of a phase without a service."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.options import AsJson
from app.cli.receipt import read_keys
from app.cli.terminal.archive_tables import show_verification
from app.cli.terminal.output import EXIT_FAILED, CommandError, command_output

if TYPE_CHECKING:
    from app.archives.evidence import TrustedKeys

ArchiveFile = Annotated[
    Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="The archive that assay export wrote.")
]


def verify(
    file: ArchiveFile,
    *,
    keys: Annotated[
        str | None,
        typer.Option(
            "--keys", metavar="JWKS", help="Public keys of receipts that you trust: a file, or its https URL."
        ),
    ] = None,
    log_key: Annotated[
        str | None,
        typer.Option("--log-key", metavar="KEY", help="The log's verifier key that you trust, name+hash+base64."),
    ] = None,
    allow_unsigned: Annotated[
        bool, typer.Option("--allow-unsigned", help="Accept scores without a receipt that one of the keys signed.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check an archive: the hash of every member, each file and receipt, and with keys their signatures.

    With keys, every score needs a receipt. What nobody signed is not checked: names, texts, times and instances.
    """
    from dataclasses import asdict

    from app.archives.open_archive import open_archive
    from app.archives.verification import verify_archive
    from app.scoring.declaration.metric_syntax import pluralize

    with command_output(as_json=as_json) as out:
        trusted = _trusted_keys(keys, log_key)
        with open_archive(file) as archive:
            found = asdict(verify_archive(archive, trusted)) | {
                name: archive.manifest.get(name) for name in ("challenge", "phase", "exported_at", "program", "origin")
            }
            if found["unsigned"] and not allow_unsigned:
                detail = (
                    f"No receipt by the keys given states {pluralize(found['unsigned'], 'score')} of scores.jsonl, "
                )
                detail += "so nothing vouches for them. If receipts were still being issued: --allow-unsigned."
                found["faults"].append(detail)
        out.result(found | {"valid": not found["faults"]}, lambda console: show_verification(console, found))
        if found["faults"]:
            raise typer.Exit(EXIT_FAILED)


def _trusted_keys(keys: str | None, log_key: str | None) -> "TrustedKeys":
    from app.archives.evidence import TrustedKeys
    from app.receipts.dsse import ReceiptRefused
    from app.receipts.jwk import parse_key_set
    from app.tlog.note import NoteRefused, parse_log_key

    try:
        return TrustedKeys(
            {} if keys is None else parse_key_set(read_keys(keys)),
            None if log_key is None else parse_log_key(log_key),
        )
    except ReceiptRefused as refused:
        raise CommandError(f"receipt_{refused.code}", refused.detail, "Get the keys from the service.") from None
    except NoteRefused as refused:
        raise CommandError("log_key", str(refused), "See the key with: assay log show") from None
