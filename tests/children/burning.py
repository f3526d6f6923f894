"""The scoring program, with a reader and metrics that never end, or break off, for files that ask for it."""

import os
from typing import Any

import app.worker.scoring_process as child
from app import pipeline
from app.prepared import gold_cache

READING, SCORING = b"\t" * 8, b"\n" * 8  # white space, which any JSON file may begin with
ABORTING, RAISING = b"\t\n" * 8, b"\n\t" * 7 + b"\n"
burning: list[bool] = [False]
read, compute = pipeline.validate, pipeline.score_labels


def burn() -> None:
    """Use the processor, within one call of a library for very long stretches."""
    while True:
        sum(range(10**9))


def validate(ids: Any, spec: Any, predictions: Any, **options: Any) -> Any:
    """Read a file, or never end."""
    content = predictions.path.read_bytes()
    if READING in content:
        burn()
    if ABORTING in content:
        os.abort()
    if RAISING in content:
        raise KeyError("no such thing")
    burning[0] = SCORING in content
    return read(ids, spec, predictions, **options)


def score_labels(*given: Any) -> Any:
    """Compute scores, or never end."""
    if burning[0]:
        burn()
    return compute(*given)


def load_gold(source: Any, **options: Any) -> Any:
    """Read gold, or never end."""
    if READING in source.path.read_bytes():
        burn()
    return pipeline.load_gold(source, **options)


if __name__ == "__main__":
    ours = ((pipeline, validate), (child, validate), (pipeline, score_labels), (gold_cache, load_gold))
    for module, function in ours:
        setattr(module, function.__name__, function)
    child.main()
