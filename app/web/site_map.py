"""All pages, and how they join the app."""

from fastapi import FastAPI

from app.web import assets, catalogue, home, leaderboard, log_in, submission
from app.web.administration.site_map import ADMINISTRATION_MODULES
from app.web.error_pages import install_error_pages
from app.web.organize.site_map import ORGANIZE_MODULES

PAGE_MODULES = (
    assets,
    catalogue,
    home,
    leaderboard,
    log_in,
    submission,
    *ADMINISTRATION_MODULES,
    *ORGANIZE_MODULES,
)


def add_pages(app: FastAPI) -> None:
    """Add the routes of the pages to an app, and its error pages."""
    install_error_pages(app)
    for module in PAGE_MODULES:
        app.router.routes.extend(module.router.routes)
