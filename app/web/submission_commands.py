"""How to submit to a phase: lines for curl, Python and the command line, with the right address, slug and phase."""

import json
import shlex
from typing import NamedTuple
from urllib.parse import quote


class Commands(NamedTuple):
    """The lines for one phase."""

    curl: str
    python: str
    assay: str


def submission_commands(origin: str, slug: str, phase: str) -> Commands:
    """The lines that check a file, submit it and show its scores."""
    address = f"{origin}/api/v1/challenges/{quote(slug, safe='')}/phases/{quote(phase, safe='')}/submissions"
    return Commands(
        _curl(address, f"{origin}/account/tokens"), _python(origin, slug, phase), _assay(origin, slug, phase)
    )


def _curl(address: str, tokens: str) -> str:
    return (
        f"# First paste the line 'export ASSAY_TOKEN=...' of a new token from {tokens}\n"
        f"URL={shlex.quote(address)}\n"
        "# Check the file first; this costs nothing.\n"
        'curl -sS -H "Authorization: Bearer $ASSAY_TOKEN" -F file=@predictions.csv "$URL?dry_run=true"; echo\n'
        "# Submit it, and wait for the scores.\n"
        'curl -sS -H "Authorization: Bearer $ASSAY_TOKEN" -H "Prefer: wait=60" \\\n'
        '  -F file=@predictions.csv "$URL?method=My+system"; echo\n'
    )


def _python(origin: str, slug: str, phase: str) -> str:
    return (
        "import os  # for the token in ASSAY_TOKEN, as for curl\n"
        "from pathlib import Path\n"
        "\n"
        "from app.client import Client  # of the package assay\n"
        "\n"
        f'with Client({json.dumps(origin)}, os.environ["ASSAY_TOKEN"]) as client:\n'
        "    submission = client.submit(\n"
        f'        {json.dumps(slug)}, Path("predictions.csv"), phase={json.dumps(phase)}, method="My system", wait=60\n'
        "    )\n"
        'print(submission["status"], submission["scores"])\n'
    )


def _assay(origin: str, slug: str, phase: str) -> str:
    where = f"{shlex.quote(slug)} --phase {shlex.quote(phase)}"
    return (
        f"assay login --url {shlex.quote(origin)}\n"
        f"assay template {where} --format csv -o predictions.csv\n"
        "# Fill it in, then check and submit it.\n"
        f"assay validate {where} -f predictions.csv\n"
        f'assay submit {where} -f predictions.csv -m "My system" --wait\n'
    )
