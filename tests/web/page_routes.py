"""Every address of the pages, from the routes of the app, with something in the place of each parameter."""

import re

from fastapi.routing import APIRoute

from tests.api.in_process_app import ServedApp

FILLS = {"slug": "digits", "phase": "main", "key": "f1_macro", "name": "page.css", "submission_id": "0" * 32}
NO_PAGES = ("/api/", "/static/", "/docs", "/healthz", "/readyz", "/metrics")


def page_addresses(app: ServedApp, method: str) -> list[str]:
    """The addresses of all pages that take this method. A parameter that is not in FILLS gets a number."""
    return [
        re.sub(r"{(\w+)[^}]*}", lambda found: FILLS.get(found[1], "1"), route.path)
        for route in app.app.routes
        if isinstance(route, APIRoute) and method in (route.methods or ()) and not route.path.startswith(NO_PAGES)
    ]
