"""All pages, each as the person looks at it to whom it says most: one table for pictures, axe, widths, weights and print.

A path names what `FilledSite.names` has. Several rows may show one page in different states. A GET route without a row
fails tests/web/test_page_table.py; a row whose address no page serves is left out of `VIEWS`.
"""

from dataclasses import dataclass

from starlette.routing import Match, Route

from app.web.assets import router as asset_router
from app.web.site_map import PAGE_MODULES

KILOBYTE = 1000


@dataclass(frozen=True)
class PageView:
    """A page as one person sees it."""

    name: str  # of the picture and of the test
    role: str
    path: str
    status: int = 200
    max_bytes: int = 100 * KILOBYTE
    """What it may weigh over the wire, without the font."""

    def address(self, names: dict[str, str]) -> str:
        """The path on a filled site."""
        return self.path.format(**names)


_ORGANIZE = {
    "": "checklist",
    **{f"/{name}": name for name in ("settings", "recipe", "phases", "registrations", "teams", "submissions")},
    **{f"/{name}": name for name in ("quota", "release", "announcements", "files", "organizers", "invitations")},
    **{f"/{name}": name for name in ("audit", "failures", "copy", "corrections")},
    "/items?phase={test}&fill=true": "items",
    "/phases/{test}/gold/1/preview": "gold-preview",
    "/recipe/1/preview": "recipe-preview",
    "/phases/{test}": "phase",
    "/registrations/{registrations}": "registration",
    "/teams/{team_blue}": "team",
    "/announcements/{announcements}": "announcement",
    "/files/{files}": "file",
    "/phases/{test}/gold": "gold",
    "/phases/{test}/gold/1/counts": "gold-classes",
    "/phases/{test}/gold/2/difference": "gold-difference",
}
ALL_VIEWS = (
    PageView("home", "visitor", "/"),
    PageView("home-archived", "visitor", "/?show=archived"),
    PageView("home-captain", "captain", "/"),
    PageView("log-in", "visitor", "/log-in"),
    PageView("sign-up", "visitor", "/sign-up"),
    PageView("invitation", "stranger", "/invitation"),
    PageView("password-reset", "visitor", "/password-reset"),
    PageView("account", "captain", "/account"),
    PageView("account-settings", "captain", "/account/settings"),
    PageView("account-tokens", "captain", "/account/tokens"),
    PageView("account-new", "stranger", "/account"),
    PageView("account-delete", "captain", "/account/delete"),
    PageView("transparency-log", "visitor", "/log"),
    PageView("catalogue", "visitor", "/catalogue"),
    PageView("catalogue-search", "visitor", "/catalogue?q=macro"),
    PageView("metric", "visitor", "/catalogue/{key}"),
    PageView("metric-string", "visitor", "/catalogue/{key}:zero_division=1"),
    PageView("metric-curve", "visitor", "/catalogue/roc_curve"),
    PageView("challenge", "visitor", "/challenges/{sounds}"),
    PageView("challenge-captain", "captain", "/challenges/{sounds}"),
    PageView("challenge-digits", "visitor", "/challenges/{digits}"),
    PageView("challenge-draft", "organizer", "/challenges/{draft}"),
    PageView("challenge-coming", "visitor", "/challenges/{whales}"),
    PageView("challenge-crowded", "visitor", "/challenges/{crowded}"),
    PageView("challenge-past", "visitor", "/challenges/{past}"),
    PageView("board-digits", "visitor", "/challenges/{digits}/leaderboard"),
    PageView("board-development", "captain", "/challenges/{sounds}/leaderboard?phase={development}"),
    PageView("board-test", "organizer", "/challenges/{sounds}/leaderboard?phase={test}"),
    PageView("board-crowded", "visitor", "/challenges/{crowded}/leaderboard"),
    PageView("board-limited", "visitor", "/challenges/{tides}/leaderboard"),
    PageView("submission-limited", "captain", "/submissions/{tides_equal}"),
    PageView("phase-limited", "organizer", "/challenges/{tides}/organize/phases/main"),
    PageView("board-empty", "visitor", "/challenges/{whales}/leaderboard"),
    PageView("board-embedded", "visitor", "/challenges/{digits}/leaderboard/embed"),
    PageView("order-digits", "visitor", "/challenges/{digits}/leaderboard/order"),
    PageView("order-test", "organizer", "/challenges/{sounds}/leaderboard/order?phase={test}"),
    PageView("order-crowded", "visitor", "/challenges/{crowded}/leaderboard/order"),
    PageView("board-former", "visitor", "/challenges/{digits}/leaderboard?gold_version=1"),
    PageView("history-digits", "organizer", "/challenges/{digits}/leaderboard/history"),
    PageView("history-refused", "visitor", "/challenges/{whales}/leaderboard/history"),
    PageView("frozen-boards", "organizer", "/challenges/{digits}/phases/main/frozen-boards"),
    PageView("order-empty", "visitor", "/challenges/{whales}/leaderboard/order"),
    PageView("errata", "visitor", "/challenges/{sounds}/errata"),
    PageView("register", "stranger", "/challenges/{sounds}/register"),
    PageView("register-visitor", "visitor", "/challenges/{sounds}/register"),
    PageView("team", "captain", "/challenges/{sounds}/team"),
    PageView("submit", "captain", "/challenges/{sounds}/submit"),
    PageView("submissions", "captain", "/challenges/{sounds}/submissions"),
    PageView("submission", "captain", "/submissions/{captain_development}"),
    PageView("submission-rejected", "captain", "/submissions/{rejected}"),
    PageView("submission-organizer", "organizer", "/submissions/{digits_forest}"),
    PageView("submission-disqualified", "late", "/submissions/{late_development}"),
    PageView("confusion", "organizer", "/submissions/{digits_bayes}/confusion", max_bytes=300 * KILOBYTE),
    PageView("confusion-1000", "organizer", "/submissions/{thousand_submission}/confusion", max_bytes=300 * KILOBYTE),
    PageView("submission-1000", "organizer", "/submissions/{thousand_submission}"),
    PageView("score", "captain", "/submissions/{captain_development}/scores/f1_macro"),
    PageView("score-organizer", "organizer", "/submissions/{digits_forest}/scores/accuracy"),
    PageView("score-1000", "organizer", "/submissions/{thousand_submission}/scores/f1_macro"),
    PageView("new-challenge", "organizer", "/new-challenge"),
    *(
        PageView(f"organize-{name}", "organizer", f"/challenges/{{sounds}}/organize{path}")
        for path, name in _ORGANIZE.items()
    ),
    PageView("organize-draft", "organizer", "/challenges/{draft}/organize"),
    PageView("administration", "administrator", "/administration"),
    PageView("administration-users", "administrator", "/administration/users"),
    PageView("administration-user", "administrator", "/administration/users/{user}"),
    PageView("administration-invitations", "administrator", "/administration/invitations"),
    PageView("administration-imports", "administrator", "/administration/imports"),
    PageView("administration-import", "administrator", "/administration/imports/{import}"),
    PageView("administration-audit", "administrator", "/administration/audit"),
    PageView("administration-challenges", "administrator", "/administration/challenges"),
    PageView("administration-workers", "administrator", "/administration/workers"),
    PageView("error-absent", "visitor", "/challenges/never-was", status=404),
    PageView("error-forbidden", "stranger", "/challenges/{sounds}/organize", status=403),
)
NO_PAGES = {
    "/account/data": "a file with the data of a person",
    "/challenges/{slug}/files/{file_name}": "a file of a challenge",
    "/challenges/{slug}/phases/{phase}/template": "a file to fill in",
    "/challenges/{slug}/leaderboard/changes": "the stream of the leaderboard's page",
    "/challenges/{slug}/leaderboard/order/data": "the comparison in the form of the API",
    "/challenges/{slug}/phases/{phase}/frozen-boards/{key}": "no board of the filled site is frozen",
    "/challenges/{slug}/phases/{phase}/frozen-boards/{key}/data": "a frozen board in a form of the API",
    "/challenges/{slug}/leaderboard/data": "the board in a form of the API",
    "/challenges/{slug}/organize/copy/export": "the archive of a phase",
    "/challenges/{slug}/organize/phases/{phase}/gold/{version}/data": "the gold file",
    "/challenges/{slug}/organize/phases/{phase}/gold/{version}/difference.csv": "the changed instances as a file",
    "/submissions/{submission_id}/changes": "the stream of the submission's page",
    "/submissions/{submission_id}/file": "the submitted file",
    "/submissions/{submission_id}/receipt": "the receipt as the API gives it",
    "/submissions/{submission_id}/report": "the report in a form of the API",
}
"""GET routes of the pages that show no page by themselves, and what they answer instead."""


def page_routes() -> dict[str, Route]:
    """All routes of the pages that answer GET, by their path; style sheets and scripts are no pages."""
    return {
        route.path: route
        for module in PAGE_MODULES
        if module.router is not asset_router
        for route in module.router.routes
        if isinstance(route, Route) and "GET" in (route.methods or ())
    }


def route_of(path: str, routes: dict[str, Route]) -> str | None:
    """The path, as declared, of the route that serves an address."""
    scope = {"type": "http", "method": "GET", "path": path.partition("?")[0], "root_path": ""}
    return next((declared for declared, route in routes.items() if route.matches(scope)[0] is Match.FULL), None)


def _is_served(view: PageView, routes: dict[str, Route]) -> bool:
    return route_of(view.path, routes) is not None


VIEWS = tuple(view for view in ALL_VIEWS if _is_served(view, page_routes()) or view.status == 404)
