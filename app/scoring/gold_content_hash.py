"""Names gold by its content: equal names mean equal file, task, classes and gold metadata."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

FILE_KIND_FIELDS = ("format", "encoding", "layout")


def gold_content_hash(
    *,
    sha256: str,
    kind: Mapping[str, str],
    task: str,
    positive_label: str | None,
    classes: Sequence[str],
    metadata: Any,
    void_ids: Sequence[str] = (),
) -> str:
    """64 hexadecimal digits for gold from a file with this SHA-256, read as this `kind`, with this gold metadata.

    `void_ids` are known besides those of the file. The order of `classes` counts, and so does the order of the keys of `metadata`: a hierarchy is declared in an order.
    """
    file_kind = [kind[name] for name in FILE_KIND_FIELDS]
    content = [sha256, file_kind, task, positive_label, list(classes), metadata]
    if void_ids:
        content.append(list(void_ids))
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def ids_hash(ids: Iterable[str]) -> str:
    """64 hexadecimal digits for a set of distinct ids, whatever their order."""
    return hashlib.sha256(json.dumps(sorted(ids)).encode()).hexdigest()
