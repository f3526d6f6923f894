"""Which challenges use a metric."""

from app.actions import access
from app.actions.access import Caller
from app.store.queries import challenges
from app.store.session import ReadSession
from app.store.tables import Challenge, Recipe

MAX_RECIPES = 500  # the newest that the caller may see; a list of more would help nobody


def challenges_with_metric(session: ReadSession, caller: Caller, key: str) -> list[Challenge]:
    """The challenges that the caller may see and whose recipe, or that of a phase, has the metric; newest first."""
    roles = {"organizes": access.can_organize(caller), "joins": access.can_read_or_submit(caller)}
    visible = challenges.visible_to(caller.user_id, admin=caller.has_admin_rights, **roles)
    pairs = challenges.active_recipes(session, visible.where(Challenge.archived_at.is_(None)), limit=MAX_RECIPES)
    found = {challenge.id: challenge for challenge, recipe in pairs if key in _metric_keys(recipe)}
    return list(found.values())


def _metric_keys(recipe: Recipe) -> set[str]:
    """The keys of a recipe's metrics, which are metric strings or objects with a key."""
    metrics = recipe.body["metrics"]
    return {(each if isinstance(each, str) else each["key"]).partition(":")[0] for each in metrics}
