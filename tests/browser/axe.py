"""The rules of axe, run in an open page."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_COLOUR_RULES = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
SCRIPT = Axe().axe_script  # from the wheel
_LONG = {
    "exclude": [
        ["tbody > tr:nth-child(n + 15):not(:last-child)"],
        ["main li:nth-child(n + 15):not(:last-child)"],
        ["math *"],
        ["svg *:not(a):not([role])"],
    ]
}
"""The rows of a long table or list are made by one template, but for the last one; most parts of drawings have no rules."""
_RUN = "([context, options]) => axe.run(context, options).then(found => found.violations)"


def violations(page: Page, *, colours_only: bool = False) -> list[str]:
    """What axe finds: rule, element and remedy, at most three elements of each rule."""
    options = {"runOnly": _COLOUR_RULES if colours_only else _RULES, "resultTypes": ["violations"]}
    if not page.evaluate("'axe' in window"):  # reading half a megabyte of script takes longer than running it
        page.evaluate(SCRIPT)
    return [
        f"{each['id']}: {each['help']}: {node['html'][:200]} {node['failureSummary'][:300]}"
        for each in page.evaluate(_RUN, [_LONG, options])
        for node in each["nodes"][:3]
    ]
