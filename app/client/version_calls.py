"""Calls about versions: those of recipes, and the switches of boards from one version to another."""

from collections.abc import Iterator

from app.client.paths import api_path, phase_path
from app.transport import Json, Transport


class VersionCalls(Transport):
    """Calls about versions of recipes and switches of boards."""

    def switches(self, slug: str, phase: str) -> Iterator[Json]:
        """The switches of the board of a phase, newest first, fetched page by page."""
        return self._items(phase_path(slug, phase, "switches"))

    def switch(self, slug: str, phase: str, number: int) -> Json:
        """One switch; a pending one with its progress for organizers."""
        return self._json("GET", phase_path(slug, phase, "switches", str(number)))

    def confirm_switch(self, slug: str, phase: str, number: int, *, reason: str | None = None) -> Json:
        """Accept that the submissions that cannot be scored leave the board."""
        return self._json("POST", phase_path(slug, phase, "switches", str(number), "confirm"), json={"reason": reason})

    def cancel_switch(self, slug: str, phase: str, number: int, *, reason: str | None = None) -> Json:
        """Take a pending switch back."""
        return self._json("POST", phase_path(slug, phase, "switches", str(number), "cancel"), json={"reason": reason})

    def switch_preview(self, slug: str, phase: str, number: int) -> Json:
        """What a pending switch would change by the scores that there are now."""
        return self._json("GET", phase_path(slug, phase, "switches", str(number), "preview"))

    def edit_switch(
        self, slug: str, phase: str, number: int, *, lists_instances: bool, reason: str | None = None
    ) -> Json:
        """Let everybody read which instances a switch changed, or organizers alone."""
        body = {"lists_instances": lists_instances, "reason": reason}
        return self._json("PATCH", phase_path(slug, phase, "switches", str(number)), json=body)

    def recipe_versions(self, slug: str) -> Iterator[Json]:
        """The versions of the recipes of a challenge and its phases, newest first."""
        return self._items(api_path("challenges", slug, "recipe", "versions"))

    def recipe_version(self, slug: str, version: int) -> Json:
        """One version of the recipe."""
        return self._json("GET", api_path("challenges", slug, "recipe", str(version)))

    def activate_recipe(
        self, slug: str, version: int, *, reason: str | None = None, lists_instances: bool = False
    ) -> Json:
        """Activate a draft or a former version of the recipe."""
        body = {"reason": reason, "lists_instances": lists_instances}
        return self._json("POST", api_path("challenges", slug, "recipe", str(version), "activate"), json=body)

    def preview_gold(self, slug: str, phase: str, version: int) -> Json:
        """Have it computed what a version of the gold would change; once more if that was computed before."""
        return self._json("POST", phase_path(slug, phase, "gold", str(version), "preview"))

    def gold_preview(self, slug: str, phase: str, version: int) -> Json:
        """The last preview of a version of the gold."""
        return self._json("GET", phase_path(slug, phase, "gold", str(version), "preview"))

    def preview_recipe(self, slug: str, version: int) -> Json:
        """Have it computed what a version of the recipe would change; once more if that was computed before."""
        return self._json("POST", api_path("challenges", slug, "recipe", str(version), "preview"))

    def recipe_preview(self, slug: str, version: int) -> Json:
        """The last preview of a version of the recipe, by phase."""
        return self._json("GET", api_path("challenges", slug, "recipe", str(version), "preview"))

    def errata(self, slug: str, *, phase: str | None = None) -> Iterator[Json]:
        """What corrections changed on the boards of a challenge, newest first, fetched page by page."""
        return self._items(api_path("challenges", slug, "errata"), {"phase": phase})
