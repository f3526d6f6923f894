"""The rules of axe, run in an open page."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_COLOUR_RULES = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
_AXE = Axe()  # the script is in the wheel


def violations(page: Page, *, colours_only: bool = False) -> list[str]:
    """What axe finds: rule, element and how to mend it, at most three elements of each rule."""
    options = {"runOnly": _COLOUR_RULES if colours_only else _RULES, "resultTypes": ["violations"]}
    return [
        f"{each['id']}: {each['help']}: {node['html'][:200]} {node['failureSummary'][:300]}"
        for each in _AXE.run(page, options=options).response["violations"]
        for node in each["nodes"][:3]
    ]
