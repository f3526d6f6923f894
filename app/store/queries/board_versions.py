"""The versions that a board is computed from: gold, recipe and scorer version."""

from typing import NamedTuple

from app.store.queries import challenges, gold
from app.store.session import ReadSession
from app.store.tables import GoldVersion, Phase, Recipe


class BoardVersion(NamedTuple):
    """Gold, recipe and scorer version: all rows of a board are computed from the same three."""

    gold: GoldVersion
    recipe: Recipe
    scorer_version: int


def active_version(session: ReadSession, phase: Phase) -> BoardVersion | None:
    """The versions in force in this phase; None while it has no active gold."""
    version = gold.active(session, phase.id)
    if version is None:
        return None
    return BoardVersion(version, challenges.active_recipe(session, phase), phase.scorer_version)
