"""The golds that one scoring child works with: from memory, from a prepared file, else from the file of the upload."""

import gc
import json
from pathlib import Path
from typing import Any

from cachetools import LRUCache

from app.formats import FileKind, Limits, Problems
from app.pipeline import Gold, SourceFile, load_gold
from app.prepared.gold_folder import PreparedGoldFolder
from app.scoring.declaration.recipe import ScoringRecipe, parse_recipe
from app.scoring.gold_content_hash import FILE_KIND_FIELDS, gold_content_hash

MAX_CACHED_GOLDS = 4
MAX_CACHED_RECIPES = 64

Request = dict[str, Any]


class GoldNotPrepared(Exception):
    """Gold was asked for by its name alone, and is not ready here."""


class GoldCache:
    """The golds used last, ready to score with: a submission pays only for itself.

    A request for gold holds its `name` (app.scoring.gold_content_hash), or its file and all that belongs to it, or both.
    """

    def __init__(self, limits: Limits, memory: int, prepared: PreparedGoldFolder | None = None) -> None:
        self.limits = limits
        self.memory = memory
        self._prepared = prepared
        self._kept: LRUCache[str, Gold] = LRUCache(MAX_CACHED_GOLDS)
        self._recipes: LRUCache[tuple[str, str], ScoringRecipe] = LRUCache(MAX_CACHED_RECIPES)

    def load(self, request: Request) -> tuple[Gold | None, Problems]:
        """The gold of a request; None where it has problems. Raises Unprepared."""
        name = request.get("name", "")
        ready = self._ready(name)
        if ready is not None:
            return ready, Problems()
        if "path" not in request:
            raise GoldNotPrepared
        fields = {
            key: value for key, value in request.items() if key not in {"path", "name", "sha256", *FILE_KIND_FIELDS}
        }
        gold, problems = load_gold(request_source(request), limits=self.limits, **fields)
        return (None if gold is None else self._keep(name or _stored_gold_name(request, gold), gold)), problems

    def evict_others(self, request: Request) -> bool:
        """Give back the memory of other golds than that of this request; False where there were none."""
        name = request.get("name", "")
        own = self._kept.pop(name, None)
        held = bool(self._kept)
        self._kept.clear()
        if own is not None:
            self._kept[name] = own
        gc.collect()
        return held

    def load_valid(self, request: Request) -> Gold:
        """The gold of a request that was checked when it was uploaded; raises Unprepared."""
        gold, problems = self.load(request)
        if gold is None:
            msg = f"stored gold no longer reads: {problems.to_dict()['total']}"
            raise RuntimeError(msg)
        return gold

    def recipe(self, request: Request, gold: Gold) -> ScoringRecipe:
        """The stored recipe of a request, as it is understood with this gold."""
        key = (request["gold"].get("name", ""), json.dumps(request["recipe"]))
        known = self._recipes.get(key) if key[0] else None
        if known is None:
            rules: dict[str, Any] = {"positive_label": gold.spec.positive_label, "classes": gold.spec.classes}
            known = self._recipes[key] = parse_recipe(request["recipe"], gold.spec.task, **rules, stored=True)
        return known

    def _ready(self, name: str) -> Gold | None:
        """The gold of this name, if it need not be read from the upload."""
        gold = self._kept.get(name)
        if self._prepared is not None and name:
            if gold is not None:
                self._prepared.used(name)
            elif (gold := self._prepared.load(name)) is not None:
                self._kept[name] = gold
        return gold

    def _keep(self, name: str, gold: Gold) -> Gold:
        """The gold ready for the next requests as well; prepared, it takes next to no memory of this program."""
        if not name:
            return gold
        if self._prepared is not None:
            self._prepared.keep(name, gold)
            gold = self._prepared.load(name) or gold
        self._kept[name] = gold
        return gold


def request_source(request: Request) -> SourceFile:
    """The file that a request names."""
    return SourceFile(Path(request["path"]), FileKind(**{name: request[name] for name in FILE_KIND_FIELDS}))


def _stored_gold_name(request: Request, gold: Gold) -> str:
    """The name that gold will have once it is stored as it was inspected; none for what is not to be stored."""
    if "sha256" not in request:
        return ""
    return gold_content_hash(
        sha256=request["sha256"],
        kind=request,
        task=request["task"],
        positive_label=request["positive_label"],
        classes=gold.spec.classes,
        beside=request["beside"],
    )
