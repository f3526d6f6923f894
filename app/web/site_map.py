"""All pages, and how they join the app."""

from fastapi import FastAPI

from app.web import (
    account,
    assets,
    board_history,
    catalogue,
    challenge,
    errata,
    frozen_boards,
    home,
    invitation,
    leaderboard,
    log,
    log_in,
    order,
    password_reset,
    register,
    score,
    sign_up,
    submission,
    submissions,
    submit,
    team,
    team_merges,
    tokens,
)
from app.web.administration.site_map import ADMINISTRATION_MODULES
from app.web.board_search import SearchableBoards
from app.web.error_pages import install_error_pages
from app.web.organize.site_map import ORGANIZE_MODULES

PAGE_MODULES = (
    account,
    assets,
    board_history,
    catalogue,
    challenge,
    errata,
    frozen_boards,
    home,
    invitation,
    leaderboard,
    log,
    log_in,
    order,
    password_reset,
    register,
    score,
    sign_up,
    submission,
    submissions,
    submit,
    team,
    team_merges,
    tokens,
    *ADMINISTRATION_MODULES,
    *ORGANIZE_MODULES,
)


def add_pages(app: FastAPI) -> None:
    """Add the routes of the pages to an app, and its error pages."""
    install_error_pages(app)
    app.state.searchable_boards = SearchableBoards()
    for module in PAGE_MODULES:
        app.router.routes.extend(module.router.routes)
