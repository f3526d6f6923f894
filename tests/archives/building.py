"""Builds archives of phases without a service, right and wrong."""

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from app.scoring import SCORER_VERSION

SUBMISSIONS = ("0" * 31 + "1", "0" * 31 + "2")
GOLD = b"id,label,split\nt1,a,public\nt2,b,public\nt3,a,private\nt4,b,private\n"
PREDICTIONS = (b'{"t1": "a", "t2": "b", "t3": "a", "t4": "a"}', b'{"t1": "b", "t2": "b", "t3": "b", "t4": "b"}')
ACCURACIES = ({"all": 0.75, "public": 1.0, "private": 0.5}, {"all": 0.5, "public": 0.5, "private": 0.5})
Members = dict[str, bytes]


def file_fields(content: bytes, form: str) -> dict[str, Any]:
    """What a row says of its file."""
    sha256 = hashlib.sha256(content).hexdigest()
    return {"sha256": sha256, "size": len(content), "format": form, "encoding": "", "layout": ""}


def json_lines(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Rows as the content of a table."""
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def good_members() -> Members:
    """The members of a small archive with two submissions, in which everything fits."""
    gold = {"version": 1, "file": "gold/1.csv", "task": "multiclass", "positive_label": None, "classes": ["a", "b"]}
    submissions = [
        {"id": name, "order": order, "team_name": "Blue", "method": "m", "file": f"predictions/{name}.json"}
        | {"status": "finished"}
        | file_fields(content, "json")
        for order, (name, content) in enumerate(zip(SUBMISSIONS, PREDICTIONS, strict=True), 1)
    ]
    scores = [
        {"submission": name, "gold_version": 1, "recipe_version": 1, "scorer_version": SCORER_VERSION, "split": split}
        | {"metrics": {"accuracy": {"value": value, "reason": None, "notes": []}}}
        for name, values in zip(SUBMISSIONS, ACCURACIES, strict=True)
        for split, value in values.items()
    ]
    return {
        "gold/1.csv": GOLD,
        **{f"predictions/{name}.json": content for name, content in zip(SUBMISSIONS, PREDICTIONS, strict=True)},
        "challenge.json": b'{"slug": "digits"}\n',
        "phase.json": b'{"slug": "main"}\n',
        "recipes.jsonl": json_lines([{"version": 1, "body": {"primary": "accuracy"}}]),
        "gold.jsonl": json_lines([gold | file_fields(GOLD, "csv") | {"metadata": {}}]),
        "teams.jsonl": b"",
        "switches.jsonl": b"",
        "submissions.jsonl": json_lines(submissions),
        "scores.jsonl": json_lines(scores),
        "intervals.jsonl": b"",
        "receipts.jsonl": b"",
        "frozen_boards.jsonl": b"",
    }


def manifest_of(content_by_name: Members, /, **changes: Any) -> bytes:
    """The manifest of these members."""
    listed = [
        {"name": name, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in content_by_name.items()
    ]
    head = {"format": "assay-export", "version": 2, "challenge": "digits", "phase": "main", "exported_at": "2027"}
    return json.dumps(head | {"members": listed} | changes).encode()


def pack(members: Members, manifest: bytes | None = None) -> bytes:
    """A ZIP file of these members with their manifest."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as out:
        for name, content in [*members.items(), ("manifest.json", manifest or manifest_of(members))]:
            out.writestr(name, content)
    return target.getvalue()


def save(folder: Path, content: bytes) -> Path:
    """The path of a file with this content."""
    path = folder / "archive.zip"
    path.write_bytes(content)
    return path
