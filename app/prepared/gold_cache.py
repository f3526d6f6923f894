"""The golds of one scoring process: in memory, mapped from a prepared file, or read from the uploaded file."""

import gc
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from cachetools import LRUCache

from app.formats import Limits, Problems
from app.pipeline import Gold, load_gold
from app.prepared.gold_folder import DamagedPreparedGold, PreparedGoldFolder, read_prepared_gold
from app.prepared.gold_source import GoldFile, GoldSource, PreparedFile
from app.scoring.declaration.recipe import ScoringRecipe, parse_recipe
from app.scoring.gold_content_hash import gold_content_hash

MAX_CACHED_GOLDS = 4
MAX_CACHED_RECIPES = 64


class GoldNotPrepared(Exception):
    """A request identified gold only by its hash, and that gold is neither in memory nor in a file that was named."""

    def __init__(self, *, damaged: bool = False) -> None:
        """`damaged` is whether a file was named that cannot be used."""
        super().__init__()
        self.damaged = damaged


class GoldCache:
    """The most recently used golds, ready for scoring: a submission pays only for itself."""

    def __init__(self, limits: Limits, memory: int, prepared: PreparedGoldFolder | None = None) -> None:
        self.limits = limits
        self.memory = memory
        self._prepared = prepared
        self._golds: LRUCache[str, Gold] = LRUCache(MAX_CACHED_GOLDS)
        self._recipes: LRUCache[tuple[str, str], ScoringRecipe] = LRUCache(MAX_CACHED_RECIPES)

    def load(self, source: GoldSource) -> tuple[Gold | None, Problems]:
        """The gold of this source; None if it has problems. Raises GoldNotPrepared."""
        gold = self._in_memory(source.name)
        if gold is None and source.prepared is not None:
            gold = self._map(source.name, source.prepared)
        if gold is not None:
            return gold, Problems()
        file = source.file
        if file is None:
            raise GoldNotPrepared
        gold, problems = self._read(file, file.void_ids)
        return (None if gold is None else self._store(source.name or _stored_gold_name(file, gold), gold)), problems

    def load_correction(self, file: GoldFile, earlier: Gold) -> tuple[Gold | None, Problems]:
        """The gold of a file that is to follow earlier gold, whose ids are void where the file lacks them.

        It is not kept: whether it may follow is still to be decided.
        """
        return self._read(file, earlier.template_ids)

    def keep(self, file: GoldFile, gold: Gold) -> None:
        """Prepare the gold of a file under the name that it will have once stored."""
        self._store(_stored_gold_name(file, gold), gold)

    def _read(self, file: GoldFile, earlier_ids: Iterable[str]) -> tuple[Gold | None, Problems]:
        fields: dict[str, Any] = {"task": file.task, "positive_label": file.positive_label, "classes": file.classes}
        return load_gold(file.source, **fields, metadata=file.metadata, earlier_ids=earlier_ids, limits=self.limits)

    def evict_others(self, *names: str) -> bool:
        """Free the memory of all golds but those with these names; returns False if there were none."""
        own = {name: gold for name in names if (gold := self._golds.pop(name, None)) is not None}
        has_evicted = bool(self._golds)
        self._golds.clear()
        self._golds.update(own)
        gc.collect()
        return has_evicted

    def load_valid(self, source: GoldSource) -> Gold:
        """Gold that was checked at its upload; raises GoldNotPrepared."""
        gold, problems = self.load(source)
        if gold is None:
            msg = f"stored gold is no longer readable: {problems.to_dict()['total']}"
            raise RuntimeError(msg)
        return gold

    def recipe(self, name: str, body: Mapping[str, Any], gold: Gold) -> ScoringRecipe:
        """A stored recipe, parsed for the gold with this name."""
        key = (name, json.dumps(body))
        recipe = self._recipes.get(key) if key[0] else None
        if recipe is None:
            rules: dict[str, Any] = {"positive_label": gold.spec.positive_label, "classes": gold.spec.classes}
            recipe = self._recipes[key] = parse_recipe(body, gold.spec.task, **rules, stored=True)
        return recipe

    def _in_memory(self, name: str) -> Gold | None:
        gold = self._golds.get(name)
        if gold is not None and self._prepared is not None:
            self._prepared.touch(name)
        return gold

    def _map(self, name: str, file: PreparedFile) -> Gold:
        """The gold of a prepared file; raises GoldNotPrepared."""
        try:
            gold = self._golds[name] = read_prepared_gold(file)
        except FileNotFoundError as error:
            raise GoldNotPrepared from error
        except DamagedPreparedGold as error:
            if self._prepared is not None:
                self._prepared.log(f"damaged prepared gold is not used: {error}")
            raise GoldNotPrepared(damaged=True) from error
        return gold

    def _store(self, name: str, gold: Gold) -> Gold:
        """Cache the gold. A prepared copy replaces it, because mapped files use next to no memory of this process."""
        if not name:
            return gold
        file = None if self._prepared is None else self._prepared.store(name, gold)
        if file is not None:
            with suppress(FileNotFoundError, DamagedPreparedGold):
                gold = read_prepared_gold(file)
        self._golds[name] = gold
        return gold


def _stored_gold_name(file: GoldFile, gold: Gold) -> str:
    """The name that inspected gold will have once stored; empty for gold that is not to be stored."""
    if not file.sha256:
        return ""
    return gold_content_hash(
        sha256=file.sha256,
        kind=file.source.kind.to_dict(),
        task=file.task,
        positive_label=file.positive_label,
        classes=gold.spec.classes,
        metadata=file.metadata,
        void_ids=file.void_ids,
    )
