"""The golds that one scoring child works with: from memory, from a prepared file, else from the file of the upload."""

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
Kept = TypeVar("Kept")


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
        self._kept: OrderedDict[str, Gold] = OrderedDict()
        self._recipes: OrderedDict[tuple[str, str], ScoringRecipe] = OrderedDict()

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
            known = parse_recipe(request["recipe"], gold.spec.task, **rules, stored=True)
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
        metadata=request["beside"],
    )
