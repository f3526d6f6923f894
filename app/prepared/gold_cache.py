"""The golds that one scoring child works with: from memory, from a prepared file, else from the file of the upload."""

import gc
import json
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, TypeVar

from app.formats import Limits, Problems
from app.pipeline import Gold, load_gold
from app.prepared.gold_folder import PreparedGoldFolder
from app.prepared.gold_source import GoldFile, GoldSource
from app.scoring.declaration.recipe import ScoringRecipe, parse_recipe
from app.scoring.gold_content_hash import gold_content_hash

MAX_CACHED_GOLDS = 4
MAX_CACHED_RECIPES = 64

Key = TypeVar("Key")
Kept = TypeVar("Kept")


class GoldNotPrepared(Exception):
    """Gold was asked for by its name alone, and is not ready here."""


class GoldCache:
    """The golds used last, ready to score with: a submission pays only for itself."""

    def __init__(self, limits: Limits, memory: int, prepared: PreparedGoldFolder | None = None) -> None:
        self.limits = limits
        self.memory = memory
        self._prepared = prepared
        self._kept: OrderedDict[str, Gold] = OrderedDict()
        self._recipes: OrderedDict[tuple[str, str], ScoringRecipe] = OrderedDict()

    def load(self, source: GoldSource) -> tuple[Gold | None, Problems]:
        """The gold of this source; None where it has problems. Raises GoldNotPrepared."""
        ready = self._ready(source.name)
        if ready is not None:
            return ready, Problems()
        file = source.file
        if file is None:
            raise GoldNotPrepared
        fields: dict[str, Any] = {"task": file.task, "positive_label": file.positive_label, "classes": file.classes}
        gold, problems = load_gold(file.source, **fields, beside=file.metadata, limits=self.limits)
        return (None if gold is None else self._keep(source.name or _stored_gold_name(file, gold), gold)), problems

    def evict_others(self, name: str) -> bool:
        """Give back the memory of other golds than the one of this name; False where there were none."""
        own = self._kept.pop(name, None)
        held = bool(self._kept)
        self._kept.clear()
        if own is not None:
            self._kept[name] = own
        gc.collect()
        return held

    def load_valid(self, source: GoldSource) -> Gold:
        """Gold that was checked when it was uploaded; raises GoldNotPrepared."""
        gold, problems = self.load(source)
        if gold is None:
            msg = f"stored gold no longer reads: {problems.to_dict()['total']}"
            raise RuntimeError(msg)
        return gold

    def recipe(self, name: str, body: Mapping[str, Any], gold: Gold) -> ScoringRecipe:
        """A stored recipe, as it is understood with the gold of this name."""
        key = (name, json.dumps(body))
        known = self._recipes.get(key) if key[0] else None
        if known is None:
            rules: dict[str, Any] = {"positive_label": gold.spec.positive_label, "classes": gold.spec.classes}
            known = parse_recipe(body, gold.spec.task, **rules, stored=True)
        return _put_entry(self._recipes, key, known, MAX_CACHED_RECIPES)

    def _ready(self, name: str) -> Gold | None:
        """The gold of this name, if it need not be read from the upload."""
        gold = self._kept.get(name)
        if self._prepared is not None and name:
            if gold is None:
                gold = self._prepared.load(name)
            else:
                self._prepared.used(name)
        return None if gold is None else _put_entry(self._kept, name, gold, MAX_CACHED_GOLDS)

    def _keep(self, name: str, gold: Gold) -> Gold:
        """The gold ready for the next requests as well; prepared, it takes next to no memory of this program."""
        if not name:
            return gold
        if self._prepared is not None:
            self._prepared.keep(name, gold)
            gold = self._prepared.load(name) or gold
        return _put_entry(self._kept, name, gold, MAX_CACHED_GOLDS)


def _put_entry(kept: OrderedDict[Key, Kept], key: Key, value: Kept, most: int) -> Kept:
    """Keep a value as the one used last, and so many in all."""
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > most:
        kept.popitem(last=False)
    return value


def _stored_gold_name(file: GoldFile, gold: Gold) -> str:
    """The name that gold will have once it is stored as it was inspected; none for what is not to be stored."""
    if not file.sha256:
        return ""
    return gold_content_hash(
        sha256=file.sha256,
        kind=file.source.kind.to_dict(),
        task=file.task,
        positive_label=file.positive_label,
        classes=gold.spec.classes,
        beside=file.metadata,
    )
