"""Reading bytes as a file, in one call."""

import gzip
import io
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Any

from app.formats.check import check
from app.formats.columns import Table
from app.formats.kinds import FileKind
from app.formats.problem import Problems
from app.formats.reader import read_table
from app.formats.rules import DEFAULT_LIMITS, Limits, Rules
from app.scoring.align import IdIndex, Labels

IDS = ("t1", "t2", "t3")
CLASSES = ("cat", "dog", "eel")


def read(
    raw: str | bytes,
    kind: str = "json",
    *,
    multilabel: bool = False,
    gold: bool = False,
    gzipped: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> tuple[Table, Problems]:
    """Read a file; text is encoded first, and compressed if `gzipped`."""
    data = raw.encode("utf-8", "surrogatepass") if isinstance(raw, str) else raw
    data = gzip.compress(data) if gzipped and isinstance(raw, str) else data
    problems = Problems()
    stream = io.BytesIO(data)
    table = read_table(
        stream, FileKind(kind, gzipped), multilabel=multilabel, gold=gold, problems=problems, limits=limits
    )
    return table, problems


def predict(
    raw: str | bytes,
    kind: str = "json",
    *,
    ids: Sequence[str] = IDS,
    classes: Sequence[str] = CLASSES,
    rules: Rules | None = None,
    void: Collection[str] = (),
    multilabel: bool = False,
    gzipped: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> tuple[Labels | None, Problems]:
    """Read predictions and check them."""
    table, problems = read(raw, kind, multilabel=multilabel, gzipped=gzipped, limits=limits)
    labels = check(table, IdIndex(ids), classes, rules=rules or Rules(), void=void, problems=problems)
    return labels, problems


def sets(labels: Labels | None) -> list[list[int]]:
    """The codes of each instance, whether single- or multi-label."""
    assert labels is not None
    if labels.offsets is None:
        return [[int(code)] for code in labels.codes]
    bounds = labels.offsets.tolist()
    return [labels.codes[start:end].tolist() for start, end in pairwise(bounds)]


def brief(problems: Problems) -> list[dict[str, Any]]:
    """The problems without prose: code, place and instance."""
    keys = ("code", "pointer", "line", "column", "instance_id")
    return [{key: value for key, value in found.to_dict().items() if key in keys} for found in problems.first]


def placed(problems: Problems) -> list[dict[str, Any]]:
    """The same without the ids that are missed because the row that meant them could not be read."""
    return [found for found in brief(problems) if found["code"] != "missing_instances"]
