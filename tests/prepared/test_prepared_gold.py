"""Prepared gold equals the gold it was prepared from, and a damaged file is never used."""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.errors import InvalidMetric, InvalidRecipe
from app.formats import DEFAULT_LIMITS, FileKind
from app.pipeline import Gold, SourceFile, score_labels
from app.prepared import array_file
from app.prepared.gold_arrays import encode_gold
from app.prepared.gold_cache import GoldCache, GoldNotPrepared
from app.prepared.gold_folder import (
    MAX_UNUSED_SECONDS,
    DamagedPreparedGold,
    PreparedGoldFolder,
    read_prepared_gold,
)
from app.prepared.gold_source import GoldFile, GoldSource, PreparedFile
from app.scoring.declaration.metric import CATALOGUE, MetricCall
from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.declaration.task import TaskKind
from app.scoring.evaluation_input import Grouping, Labels
from tests.prepared.sample_golds import KINDS, load_kind

NAME = "0" * 64


@pytest.fixture
def messages() -> list[str]:
    """The messages to the operator."""
    return []


@pytest.fixture
def prepared(tmp_path: Path, messages: list[str]) -> PreparedGoldFolder:
    """A folder with room."""
    return PreparedGoldFolder(tmp_path / "prepared", 1 << 30, 0, messages.append)


def file_of(prepared: PreparedGoldFolder, name: str = NAME) -> Path:
    return prepared.folder / f"{name}.gold"


def load(prepared: PreparedGoldFolder, name: str = NAME, sha256: str | None = None) -> Gold:
    """The gold in the file of this name."""
    return read_prepared_gold(PreparedFile(file_of(prepared, name), sha256))


def prepare(
    prepared: PreparedGoldFolder, folder: Path, kind: str = "gold metadata", name: str = NAME
) -> tuple[Gold, Gold]:
    """Gold as it was read, and as it comes back prepared."""
    gold = load_kind(folder, kind)
    assert prepared.store(name, gold) == PreparedFile(file_of(prepared, name))
    return gold, load(prepared, name)


def comparable(value: Any) -> Any:
    """A part of gold in a form that can be compared."""
    if isinstance(value, np.ndarray):
        return value.dtype, value.tolist()
    if isinstance(value, Labels):
        return comparable(value.codes), comparable(value.offsets)
    if isinstance(value, Grouping):
        return list(value.names), comparable(value.codes)
    return value


@pytest.mark.parametrize("kind", KINDS)
def test_it_says_what_the_gold_said(prepared: PreparedGoldFolder, tmp_path: Path, kind: str) -> None:
    gold, back = prepare(prepared, tmp_path, kind)
    assert back.ids == gold.ids
    assert set(back.void) == set(gold.void)
    assert list(back.template_ids) == list(gold.template_ids)
    assert len(back.template_ids) == len(gold.template_ids)
    assert back.index.rows([*reversed(gold.ids), "unknown"]).tolist() == [*reversed(range(len(gold.ids))), -1]
    assert (back.tables is None) == (gold.tables is None) == (kind == "uneven ids")
    if back.tables is not None:
        assert (back.tables.ids.texts(), tuple(back.tables.classes.texts())) == (gold.ids, gold.spec.classes)
    assert (back.known_ids is None) == (not gold.void)
    if back.known_ids is not None:
        assert back.known_ids.texts() == [*gold.ids, *sorted(gold.void)]
    own = {"index", "void", "template_ids", "tables", "known_ids"}
    for name in (each.name for each in fields(Gold) if each.name not in own):
        assert comparable(getattr(back, name)) == comparable(getattr(gold, name)), name


def metric_calls(task: TaskKind) -> Iterator[MetricCall]:
    """Every metric of a task that its example parameters suffice for."""
    for metric in CATALOGUE.values():
        params = dict(metric.example.params) | (
            {"label": "dog"} if "label" in {each.name for each in metric.params} else {}
        )
        with suppress(InvalidMetric):
            yield parse_metric({"key": metric.key, "params": params}, task=task)


@pytest.mark.parametrize("kind", ["gold metadata", "sets", "acceptable answers", "splits and weights", "binary"])
def test_every_metric_gives_the_same_on_arrays_that_nobody_may_write(
    prepared: PreparedGoldFolder, tmp_path: Path, kind: str
) -> None:
    gold, back = prepare(prepared, tmp_path, kind)
    assert not back.labels.codes.flags.writeable
    calls = list(metric_calls(gold.spec.task))
    assert len(calls) > 100
    rng = np.random.default_rng(3)
    rows = rng.permutation(gold.labels.n)
    guess = (
        gold.labels.take(rows)
        if kind != "acceptable answers"
        else Labels(rng.integers(3, size=len(rows)).astype(np.int32))
    )
    chances = rng.dirichlet(np.ones(len(gold.spec.classes)), len(rows))
    assert score_labels(back, guess, calls, chances) == score_labels(gold, guess, calls, chances)


def test_no_id_is_a_string_until_one_is_asked_for(prepared: PreparedGoldFolder, tmp_path: Path) -> None:
    _, back = prepare(prepared, tmp_path, "plain")
    assert len(back.index) == len(back.template_ids) == 60
    assert "ids" not in vars(back.index)
    assert back.template_ids[0] == "doc-000"
    assert "ids" in vars(back.index)


def test_the_key_of_its_hash_is_another_each_time_and_stands_in_the_file(
    prepared: PreparedGoldFolder, tmp_path: Path
) -> None:
    """Whoever could foresee it could send a million ids that all collide."""
    tables = [prepare(prepared, tmp_path, "plain")[1].index.table for _ in range(2)]
    assert tables[0] is not None
    assert tables[1] is not None
    assert tables[0].key.tolist() != tables[1].key.tolist()


def test_only_its_own_account_may_read_it(prepared: PreparedGoldFolder, tmp_path: Path) -> None:
    prepare(prepared, tmp_path)
    assert prepared.folder.stat().st_mode & 0o777 == 0o700
    assert file_of(prepared).stat().st_mode & 0o777 == 0o600


# ---- files that are not what was written


def assert_rejected(prepared: PreparedGoldFolder, data: bytes, messages: list[str]) -> None:
    """A file of these bytes is not used, and is reported."""
    path = file_of(prepared)
    path.write_bytes(data)
    messages.clear()
    cache = GoldCache(DEFAULT_LIMITS, 0, prepared)
    with pytest.raises(GoldNotPrepared) as refused:
        cache.load(GoldSource(NAME, prepared=PreparedFile(path)))
    assert refused.value.damaged
    assert len(messages) == 1


def test_a_file_cut_short_anywhere_is_made_again(
    prepared: PreparedGoldFolder, tmp_path: Path, messages: list[str]
) -> None:
    gold, _ = prepare(prepared, tmp_path)
    whole = file_of(prepared).read_bytes()
    for length in {*range(130), *range(130, len(whole), 397), len(whole) - 1}:
        assert_rejected(prepared, whole[:length], messages)
    assert_rejected(prepared, whole + b"\0", messages)
    prepared.store(NAME, gold)
    assert load(prepared).ids == gold.ids


def test_a_flipped_bit_anywhere_is_noticed(prepared: PreparedGoldFolder, tmp_path: Path, messages: list[str]) -> None:
    gold, _ = prepare(prepared, tmp_path)
    whole = file_of(prepared).read_bytes()
    ends = 48  # of the head, after which zeros stand up to the header
    for at in [*range(ends), *range(64, len(whole), 211), len(whole) - 1]:
        changed = bytearray(whole)
        changed[at] ^= 1 << at % 8
        assert_rejected(prepared, bytes(changed), messages)
    prepared.store(NAME, gold)
    assert load(prepared).ids == gold.ids


@pytest.mark.parametrize("data", [b"", b"\0" * 4096, b"{}", os.urandom(10_000)])
def test_a_file_that_is_not_prepared_gold_is_not_used(
    prepared: PreparedGoldFolder, data: bytes, messages: list[str]
) -> None:
    prepared.folder.mkdir()
    assert_rejected(prepared, data, messages)


def test_another_layout_and_another_version_of_the_program_are_made_again(
    prepared: PreparedGoldFolder, tmp_path: Path, messages: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name, value in (
        ("app.prepared.array_file", "MAGIC", b"AssayG99"),
        ("app.prepared.gold_arrays", "PROGRAM", "9 1 AssayG02"),
    ):
        with monkeypatch.context() as other:
            other.setattr(f"{module}.{name}", value)
            gold, _ = prepare(prepared, tmp_path)
        assert_rejected(prepared, file_of(prepared).read_bytes(), messages)
        prepared.store(NAME, gold)
        assert load(prepared).ids == gold.ids


def test_where_it_cannot_be_written_gold_is_scored_with_as_it_is(
    prepared: PreparedGoldFolder, tmp_path: Path, messages: list[str]
) -> None:
    prepared.folder.write_text("no folder")
    prepared.evict_unused()
    assert prepared.store(NAME, load_kind(tmp_path, "plain")) is None
    assert len(messages) == 1
    prepared.folder.unlink()
    file_of(prepared).mkdir(parents=True)  # a folder of its name
    assert prepared.store(NAME, load_kind(tmp_path, "plain")) is None
    with pytest.raises(DamagedPreparedGold):
        load(prepared)
    assert [path.name for path in prepared.folder.iterdir()] == [f"{NAME}.gold"]


def test_another_whole_file_than_the_one_that_was_stored_is_not_used(
    prepared: PreparedGoldFolder, tmp_path: Path
) -> None:
    """Its own checksum is right; the one in the database tells."""
    prepare(prepared, tmp_path, "plain")
    stored = array_file.declared_sha256(file_of(prepared))
    assert load(prepared, sha256=stored).ids
    prepare(prepared, tmp_path, "plain")  # the same gold once more, under another random key
    assert array_file.declared_sha256(file_of(prepared)) != stored
    with pytest.raises(DamagedPreparedGold, match="another file"):
        load(prepared, sha256=stored)


def test_a_missing_file_is_not_reported_as_damaged(prepared: PreparedGoldFolder, messages: list[str]) -> None:
    with pytest.raises(GoldNotPrepared) as refused:
        GoldCache(DEFAULT_LIMITS, 0, prepared).load(GoldSource(NAME, prepared=PreparedFile(file_of(prepared))))
    assert not refused.value.damaged
    assert messages == []


# ---- what is kept


def set_last_used(prepared: PreparedGoldFolder, name: str, seconds: float) -> None:
    """As if it had been used so long ago."""
    moment = time.time() - seconds
    os.utime(file_of(prepared, name), (moment, moment))


def names(prepared: PreparedGoldFolder) -> set[str]:
    return {path.stem for path in prepared.folder.iterdir()}


def test_the_least_recently_used_goes_first_and_a_map_of_it_stays_readable(tmp_path: Path) -> None:
    size = sum(map(len, array_file.serialize(*encode_gold(load_kind(tmp_path, "plain")))))
    prepared = PreparedGoldFolder(tmp_path / "prepared", 3 * size)
    maps = {}
    for at, name in enumerate("abc"):
        maps[name] = prepare(prepared, tmp_path, "plain", name)[1]
        set_last_used(prepared, name, 100 - at)
    prepared.touch("a")
    prepare(prepared, tmp_path, "plain", "d")
    assert names(prepared) == {"a", "c", "d"}
    assert maps["b"].ids == maps["a"].ids
    assert maps["b"].labels.codes.tolist() == maps["a"].labels.codes.tolist()


def test_gold_beyond_the_limit_or_the_free_space_is_not_prepared_and_drops_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "prepared"
    prepare(PreparedGoldFolder(folder, 1 << 30), tmp_path, "plain", "small")
    for limit, free in ((0, 0), (100, 0), (1 << 30, 1 << 62)):
        assert PreparedGoldFolder(folder, limit, free).store("more", load_kind(tmp_path, "plain")) is None
        assert not (folder / "more.gold").exists()


def test_what_nobody_used_for_long_is_dropped(prepared: PreparedGoldFolder, tmp_path: Path) -> None:
    """It may be of a challenge that was deleted."""
    for name in "ab":
        prepare(prepared, tmp_path, "plain", name)
    set_last_used(prepared, "a", MAX_UNUSED_SECONDS + 60)
    set_last_used(prepared, "b", MAX_UNUSED_SECONDS - 600)
    prepared.evict_unused()
    assert names(prepared) == {"b"}


def test_a_recipe_is_cached_for_its_content_and_its_gold(tmp_path: Path) -> None:
    cache, gold = GoldCache(DEFAULT_LIMITS, 0), load_kind(tmp_path, "plain")
    body = {"primary": "accuracy", "options": {"exclude_labels": ["fox"]}}
    recipe = cache.recipe(NAME, body, gold)
    assert cache.recipe(NAME, dict(body), gold) is recipe
    assert cache.recipe(NAME, {"primary": "f1_macro"}, gold).primary == "f1_macro"
    with pytest.raises(InvalidRecipe):  # these classes do not include fox
        cache.recipe("1" * 64, body, load_kind(tmp_path, "gold metadata"))


@pytest.mark.ci
def test_the_gold_that_is_needed_stays_when_others_are_evicted(tmp_path: Path) -> None:
    cache = GoldCache(DEFAULT_LIMITS, 0)
    load_kind(tmp_path, "plain")
    file = GoldFile(SourceFile(tmp_path / "gold.json", FileKind("json")), "multiclass")
    golds = {name: cache.load(GoldSource(name, file))[0] for name in "ab"}
    assert cache.evict_others("a")
    assert cache.load(GoldSource("a"))[0] is golds["a"]
    with pytest.raises(GoldNotPrepared):
        cache.load(GoldSource("b"))
    assert not cache.evict_others("a")


def test_gold_just_written_stays_even_if_another_was_used_by_a_later_clock(tmp_path: Path) -> None:
    size = sum(map(len, array_file.serialize(*encode_gold(load_kind(tmp_path, "plain")))))
    prepared = PreparedGoldFolder(tmp_path / "prepared", size + size // 2)
    prepare(prepared, tmp_path, "plain", "a")
    set_last_used(prepared, "a", -100)
    prepare(prepared, tmp_path, "plain", "b")
    assert names(prepared) == {"b"}
