"""The vectorized reader of scores in .npz files: the same matrix as the strict reader, or None."""

import io
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from app.formats.reading_rules import ReadingRules
from app.scoring.declaration.task import TaskSpec
from app.scoring.numeric.exact import Floats
from tests.each_case import for_each
from tests.formats.reading import read_answers
from tests.formats.test_vectorized_scores import read_vectorized, scored_rows


def archive(pack: Callable[..., None] = np.savez, **arrays: Any) -> bytes:
    """An .npz file."""
    stream = io.BytesIO()
    pack(stream, **arrays)
    return stream.getvalue()


def read_by_both(raw: bytes, ids: Sequence[str], spec: TaskSpec, rules: ReadingRules) -> Floats | None:
    """The scores of an .npz file from the vectorized reader, after a comparison with the strict reader."""
    read_answers(
        raw, "npz", ids=ids, classes=spec.classes, rules=rules, task=spec.task, positive_label=spec.positive_label
    )
    return read_vectorized(raw, "npz", ids, spec, rules)


@for_each("pack", [np.savez, np.savez_compressed])
@for_each("text", ["<U20", ">U14", "S12"])
@for_each("kind", ["<f8", ">f8", "<f4"])
@for_each("layout", ["C", "F"])
def test_arrays_of_any_kind_are_put_in_order(pack: Callable[..., None], text: str, kind: str, layout: Any) -> None:
    ids, _, classes, scores = scored_rows(300, 7)
    order, own = np.random.default_rng(4).permutation(300), np.random.default_rng(5).permutation(7)
    given = np.array(scores[order][:, own], dtype=kind, order=layout)
    names = np.array(classes)[own]
    raw = archive(pack, ids=np.array(ids, dtype=text)[order], scores=given, classes=names)
    found = read_by_both(
        raw, ids, TaskSpec("multiclass", tuple(classes)), ReadingRules(scores="due", probabilities=True)
    )
    assert found is not None
    assert np.array_equal(found, scores.astype(kind))


@for_each("text", ["<U9", ">U3", "S2", "S17"])
def test_ids_of_different_lengths_are_read_fast(text: str) -> None:
    ids = ["b", "a3", "c"]
    raw = archive(ids=np.array(ids, dtype=text), scores=np.array([[1.0, 2], [3, 4], [5, 6]]))
    found = read_by_both(raw, ["a3", "b", "c"], TaskSpec("multiclass", ("x", "y")), ReadingRules())
    assert found is not None
    assert found.tolist() == [[3, 4], [1, 2], [5, 6]]


@for_each(
    "change",
    [
        {"x": np.zeros(2)},
        {"labels": np.array(["x", "y"])},
        {"scores": np.array([[1, 2], [3, np.nan]])},
        {"scores": np.array([[1, 2], [3, 4]])},
        {"scores": np.array([[1.0, 2, 3], [3, 4, 5]])},
        {"scores": np.array([1.0, 2])},
        {"scores": np.array([[1.0, 2]])},
        {"ids": np.array(["a", "c"])},
        {"ids": np.array(["a", "a"])},
        {"ids": np.array(["a", "b\0\0c"])},
        {"ids": np.array([["a"], ["b"]])},
        {"ids": np.array(["a", ""])},
        {"ids": np.array(["", ""])},
        {"classes": np.array(["x", "z"])},
        {"classes": np.array(["x", "y", "x"])},
    ],
)
def test_arrays_about_which_there_is_a_doubt_are_left_to_the_strict_reader(change: dict[str, Any]) -> None:
    sound: dict[str, Any] = {"ids": np.array(["a", "b"]), "scores": np.array([[1.0, 2], [3, 4]])}
    spec = TaskSpec("multiclass", ("x", "y"))
    assert read_by_both(archive(**sound), ["a", "b"], spec, ReadingRules()) is not None
    assert read_by_both(archive(**{**sound, **change}), ["a", "b"], spec, ReadingRules()) is None


def test_a_changed_byte_of_an_array_is_seen_in_both_tiers() -> None:
    raw = archive(ids=np.array(["a", "b"]), scores=np.array([[1.0, 2], [3, 4]]))
    spec, unseen = TaskSpec("multiclass", ("x", "y")), 0
    for at in range(len(raw)):
        changed = raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]
        unseen += read_by_both(changed, ["a", "b"], spec, ReadingRules()) is not None
    assert unseen < len(raw) // 3  # dates, versions and the like
