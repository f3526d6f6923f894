"""Changes of the gold over several versions: composed from the stored differences, as if the ends were compared."""

import json
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.actions.versions.gold_changes import gold_difference_among
from app.formats import FileKind
from app.gold import Gold, load_gold
from app.gold_difference import compare_gold
from app.pipeline import SourceFile
from app.store.tables import GoldVersion

IDS = ("a", "b", "c", "d")
CLASSES = ["x", "y"]
ROWS = st.fixed_dictionaries(
    {},
    optional={
        name: st.fixed_dictionaries(
            {"label": st.sampled_from(CLASSES), "split": st.sampled_from(["public", "private"])}
            | {"weight": st.sampled_from([1, 2])}
        )
        for name in IDS
    },
)
WEIGHTED = st.booleans()


def load(path: Path, rows: dict[str, Any], *, weighted: bool) -> Gold:
    """Gold with these rows; the others are void."""
    shown = [{"id": name, **row} for name, row in rows.items()]
    if not weighted:
        shown = [{part: value for part, value in row.items() if part != "weight"} for row in shown]
    path.write_text(json.dumps(shown))
    gold, problems = load_gold(
        SourceFile(path, FileKind("json", "", "")), task="multiclass", classes=CLASSES, earlier_ids=IDS
    )
    assert gold is not None, problems.to_dict()
    return gold


def version_after(number: int, base: int, earlier: Gold, gold: Gold) -> GoldVersion:
    """A stored version that was compared with an earlier one."""
    found = compare_gold(earlier, gold).to_dict()
    changes = found.pop("changes")
    difference = {"base": base, **found, "metadata": []}
    return GoldVersion(version=number, difference=difference, changes=changes, accessories={})


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    golds=st.lists(st.tuples(ROWS.filter(bool), WEIGHTED), min_size=4, max_size=4),
    bases=st.tuples(st.just(1), st.integers(1, 2), st.integers(1, 3)),
    ends=st.permutations([1, 2, 3, 4]),
)
def test_as_if_both_ends_were_compared(
    tmp_path: Path, golds: list[tuple[dict[str, Any], bool]], bases: tuple[int, ...], ends: list[int]
) -> None:
    loaded = {at: load(tmp_path / "gold.json", rows, weighted=weighted) for at, (rows, weighted) in enumerate(golds, 1)}
    versions = [GoldVersion(version=1, difference=None, changes=None, accessories={})]
    versions += [version_after(number, base, loaded[base], loaded[number]) for number, base in enumerate(bases, 2)]
    known = {version.version: version for version in versions}
    before, after = ends[:2]
    found = gold_difference_among(known, known[before], known[after])
    wanted = compare_gold(loaded[before], loaded[after]).to_dict()
    assert found is not None
    assert found["counts"] == wanted["counts"]
    assert {end: found[end] for end in ("before", "after")} == wanted["class_counts"]


def test_changes_that_are_not_all_listed_are_not_composed(tmp_path: Path) -> None:
    golds = [load(tmp_path / "gold.json", {"a": {"label": label}}, weighted=False) for label in ("x", "y", "x")]
    versions = [GoldVersion(version=1, difference=None, changes=None, accessories={})]
    versions += [version_after(2, 1, golds[0], golds[1]), version_after(3, 1, golds[0], golds[2])]
    versions[1].changes = []
    known = {version.version: version for version in versions}
    assert gold_difference_among(known, versions[1], versions[2]) is None
    one_step = gold_difference_among(known, versions[0], versions[1])
    assert one_step is not None
    assert one_step["counts"]["relabelled"] == 1


def test_on_the_way_back_what_was_voided_is_restored(tmp_path: Path) -> None:
    golds = [load(tmp_path / "gold.json", {key: {"label": "x"} for key in ids}, weighted=False) for ids in ("ab", "a")]
    first = GoldVersion(version=1, difference=None, changes=None, accessories={})
    second = version_after(2, 1, *golds)
    back = gold_difference_among({1: first, 2: second}, second, first)
    assert back is not None
    assert (back["counts"]["restored"], back["counts"]["voided"]) == (1, 0)
    wanted = compare_gold(golds[1], golds[0]).to_dict()["class_counts"]
    assert {end: back[end] for end in ("before", "after")} == wanted
    assert wanted["before"] != wanted["after"]
