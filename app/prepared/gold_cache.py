"""The golds of one scoring process: from memory, from a prepared file, or from the uploaded file."""

import gc
import json
from collections import OrderedDict
from pathlib import Path
from typing import Any, TypeVar

from app.formats import FileKind, Limits, Problems
from app.pipeline import Gold, SourceFile, load_gold
from app.prepared.gold_folder import PreparedGoldFolder
from app.scoring.declaration.recipe import ScoringRecipe, parse_recipe
from app.scoring.gold_content_hash import FILE_KIND_FIELDS, gold_content_hash

MAX_CACHED_GOLDS = 4
MAX_CACHED_RECIPES = 64

Request = dict[str, Any]
Key = TypeVar("Key")
Value = TypeVar("Value")


class GoldNotPrepared(Exception):
    """A request identified gold only by its hash, and that gold is not prepared here."""


class GoldCache:
    """The most recently used golds, ready for scoring.

    A request for gold holds its `name` (see app.scoring.gold_content_hash), its file with all metadata, or both.
    """

    def __init__(self, limits: Limits, memory: int, prepared: PreparedGoldFolder | None = None) -> None:
        self.limits = limits
        self.memory = memory
        self._prepared = prepared
        self._golds: OrderedDict[str, Gold] = OrderedDict()
        self._recipes: OrderedDict[tuple[str, str], ScoringRecipe] = OrderedDict()

    def load(self, request: Request) -> tuple[Gold | None, Problems]:
        """The gold of a request; None if it has problems. Raises GoldNotPrepared."""
        name = request.get("name", "")
        gold = self._load_prepared(name)
        if gold is not None:
            return gold, Problems()
        if "path" not in request:
            raise GoldNotPrepared
        other_keys = {"path", "name", "sha256", *FILE_KIND_FIELDS}
        fields = {key: value for key, value in request.items() if key not in other_keys}
        gold, problems = load_gold(request_source(request), limits=self.limits, **fields)
        return (None if gold is None else self._keep(name or _stored_gold_name(request, gold), gold)), problems

    def evict_others(self, request: Request) -> bool:
        """Free the memory of all golds but that of this request; returns False if there were none."""
        name = request.get("name", "")
        own = self._golds.pop(name, None)
        evicted = bool(self._golds)
        self._golds.clear()
        if own is not None:
            self._golds[name] = own
        gc.collect()
        return evicted

    def load_valid(self, request: Request) -> Gold:
        """The gold of a request, which was checked at its upload; raises GoldNotPrepared."""
        gold, problems = self.load(request)
        if gold is None:
            msg = f"stored gold is no longer readable: {problems.to_dict()['total']}"
            raise RuntimeError(msg)
        return gold

    def recipe(self, request: Request, gold: Gold) -> ScoringRecipe:
        """The stored recipe of a request, parsed for this gold."""
        key = (request["gold"].get("name", ""), json.dumps(request["recipe"]))
        known = self._recipes.get(key) if key[0] else None
        if known is None:
            rules: dict[str, Any] = {"positive_label": gold.spec.positive_label, "classes": gold.spec.classes}
            known = parse_recipe(request["recipe"], gold.spec.task, **rules, stored=True)
        return _put_entry(self._recipes, key, known, MAX_CACHED_RECIPES)

    def _load_prepared(self, name: str) -> Gold | None:
        """The gold with this name from memory or from a prepared file, else None."""
        gold = self._golds.get(name)
        if self._prepared is not None and name:
            if gold is None:
                gold = self._prepared.load(name)
            else:
                self._prepared.used(name)
        return None if gold is None else _put_entry(self._golds, name, gold, MAX_CACHED_GOLDS)

    def _keep(self, name: str, gold: Gold) -> Gold:
        """Cache the gold. A prepared copy replaces it, because mapped files use next to no memory of this process."""
        if not name:
            return gold
        if self._prepared is not None:
            self._prepared.keep(name, gold)
            gold = self._prepared.load(name) or gold
        return _put_entry(self._golds, name, gold, MAX_CACHED_GOLDS)


def _put_entry(cache: OrderedDict[Key, Value], key: Key, value: Value, max_entries: int) -> Value:
    """Store a value as the most recently used one, and evict the oldest beyond `max_entries`."""
    cache[key] = value
    cache.move_to_end(key)
    while len(cache) > max_entries:
        cache.popitem(last=False)
    return value


def request_source(request: Request) -> SourceFile:
    """The file that a request names."""
    return SourceFile(Path(request["path"]), FileKind(**{name: request[name] for name in FILE_KIND_FIELDS}))


def _stored_gold_name(request: Request, gold: Gold) -> str:
    """The name that inspected gold will have once stored; empty for gold that is not to be stored."""
    if "sha256" not in request:
        return ""
    return gold_content_hash(
        sha256=request["sha256"],
        kind=request,
        task=request["task"],
        positive_label=request["positive_label"],
        classes=gold.spec.classes,
        metadata=request["beside"],
    )
