"""The name of gold by its content: equal where file, task, classes and what stands beside them are equal."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

FILE_KIND_FIELDS = ("format", "encoding", "layout")


def gold_content_hash(
    *, sha256: str, kind: Mapping[str, str], task: str, positive_label: str | None, classes: Sequence[str], beside: Any
) -> str:
    """64 hexadecimal digits for gold of a file with this SHA-256, read as this `kind` and with these accessories.

    `classes` are the vocabulary in its order; the order of keys within `beside` counts too, for a hierarchy is declared
    in some order.
    """
    read = [kind[name] for name in FILE_KIND_FIELDS]
    told = json.dumps([sha256, read, task, positive_label, list(classes), beside])
    return hashlib.sha256(told.encode()).hexdigest()
