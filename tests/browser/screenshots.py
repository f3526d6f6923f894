"""Takes a picture of every page in light, dark and narrow: python -m tests.browser.screenshots [--only board,home]."""

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.browser import chromium
from tests.browser.filled_site import SETTINGS, FilledSite, fill
from tests.browser.page_table import VIEWS, PageView
from tests.live_service import ROOT, Live

FOLDER = ROOT / "screenshots"
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1280, "height": 900}},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "narrow": {"viewport": {"width": 360, "height": 740}, "device_scale_factor": 2},
}


def picture(browser: Browser, site: FilledSite, view: PageView, look: str, folder: Path) -> Path:
    """Take one picture of a whole page."""
    target = folder / f"{view.name}.{look}.png"
    with chromium.visit(browser, site.url, site.cookies(view.role), **LOOKS[look]) as (context, _):
        page = context.new_page()
        chromium.show(page, view.address(site.names), view.status)
        page.screenshot(path=target, full_page=True)
    return target


def take_all(folder: Path, only: list[str]) -> int:
    """Take the pictures of all pages whose name begins with one of `only`; gives their number."""
    views = [view for view in VIEWS if not only or view.name.startswith(tuple(only))]
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as data:
        live = Live(Path(data) / "data", **SETTINGS).with_analyses().start()
        try:
            site = fill(live)
            with chromium.launched(chromium.executable()) as browser:
                for view in views:
                    for look in LOOKS:
                        picture(browser, site, view, look, folder)
                    print(f"{view.name:28} {view.role:14} {view.address(site.names)}")
        finally:
            live.stop()
    return len(views) * len(LOOKS)


def main() -> None:
    """Read the arguments and take the pictures."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--only", default="", help="names of pages, or how they begin, joined by commas")
    arguments.add_argument("--folder", type=Path, default=FOLDER)
    given = arguments.parse_args()
    try:
        number = take_all(given.folder, [name for name in given.only.split(",") if name])
    except pytest.skip.Exception as reason:
        sys.exit(str(reason))
    print(f"{number} pictures in {given.folder}")


if __name__ == "__main__":
    main()
