"""People who use the pages: with a mouse, with a keyboard alone, or in a browser without scripts.

What a person does is said in the words of the page: the name of a link or a button, the label of a field. So a journey is
written once and walked in each of these ways.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Self

from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser import chromium
from tests.live_service import PASSWORD, eventually

Way = Literal["mouse", "keyboard", "no scripts"]
WAYS: tuple[Way, ...] = ("mouse", "keyboard", "no scripts")
MAX_TABS = 300
STOPS_BETWEEN = """
e => {
  const stops = [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex]')].filter(
    (each) => each.tabIndex >= 0 && !each.disabled && each.checkVisibility() && (each.type !== 'radio' || each.checked));
  if (!stops.includes(e)) return 0;
  const distance = stops.indexOf(e) - stops.indexOf(document.activeElement);
  return (distance < 0 ? distance + stops.length : distance) - 1;
}
"""
"""How many controls at least stand between the focus and an element, so that nobody looks after each of them."""
VISIBLE_FOCUS = """
e => { const style = getComputedStyle(e); return style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1; }
"""


class Person:
    """Somebody with a mouse."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def go(self, path: str) -> Self:
        """Type an address."""
        self.page.goto(path)
        return self

    def must_go(self, path: str, status: int = 200) -> Self:
        """Type an address at which there must be a page with this status."""
        chromium.show(self.page, path, status)
        return self

    def follow(self, name: str, menu: str | None = None) -> Self:
        """Follow a link, of this menu where two menus have links of one name."""
        place = self.page if menu is None else self.page.get_by_role("navigation", name=menu, exact=True)
        self._activate(self._only(place.get_by_role("link", name=name, exact=True)))
        return self

    def press(self, name: str) -> None:
        """Press a button."""
        self._activate(self._only(self.page.get_by_role("button", name=name, exact=True)))

    def write(self, label: str, text: str) -> None:
        """Write a text into a field, in place of what is there."""
        field = self._field(label)
        field.fill(text)

    def choose(self, label: str, option: str) -> None:
        """Choose an option of a list."""
        self._field(label).select_option(label=option)

    def mark(self, label: str, group: str | None = None) -> None:
        """Choose a radio button, or tick a box, of this group where two groups have one of that label."""
        self._mark(self._field(label, group))

    def attach(self, label: str, *files: Path) -> None:
        """Choose files of this machine."""
        self._field(label).set_input_files(list(files))

    def open(self, summary: str) -> None:
        """Open what is folded up."""
        self._activate(self._only(self.page.locator("summary").filter(has_text=summary)))

    def sees(self, *texts: str) -> None:
        """Wait until these texts stand in the main part of the page."""
        for text in texts:
            expect(self.page.locator("body")).to_contain_text(text)

    def sees_heading(self, text: str) -> None:
        """Wait until the page has this heading."""
        expect(self.page.get_by_role("heading", level=1)).to_have_text(text)

    def does_not_see(self, text: str) -> None:
        """Require that a text is nowhere on the page, which has loaded."""
        expect(self.page.locator("body")).not_to_contain_text(text)

    def log_in(self, email: str, password: str = PASSWORD) -> Self:
        """Log in by the page."""
        self.go("/log-in")
        self.write("E-mail address", email)
        self.write("Password", password)
        self.press("Log in")
        expect(self.page.get_by_role("button", name="Log out")).to_be_visible()
        return self

    def waits_for(self, found: Locator, text: str) -> None:
        """Wait until a part of the page, which follows what happens, has this text."""
        expect(found).to_have_text(text)

    def _field(self, label: str, group: str | None = None) -> Locator:
        place = self.page if group is None else self.page.get_by_role("group", name=group)
        return self._only(place.get_by_label(label, exact=True))

    def _mark(self, field: Locator) -> None:
        field.check()

    def _only(self, found: Locator) -> Locator:
        """What was found, which must be visible once: a page on which two things have one name misleads its readers."""
        expect(found.filter(visible=True)).to_have_count(1)
        return found.filter(visible=True)

    def _activate(self, target: Locator) -> None:
        target.click()


class KeyboardPerson(Person):
    """Somebody who has only a keyboard, and who must see where the focus is."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        page.on("filechooser", lambda _: None)  # so that no dialogue opens before Playwright is ready for it

    def write(self, label: str, text: str) -> None:
        """Write a text into a field, in place of what is there."""
        self._reach(self._field(label))
        self.page.keyboard.press("ControlOrMeta+A")
        self.page.keyboard.press("Delete")
        self.page.keyboard.insert_text(text)

    def choose(self, label: str, option: str) -> None:
        """Choose an option of a list by typing it."""
        field = self._field(label)
        self._reach(field)
        self.page.keyboard.type(option)
        expect(field.locator("option:checked")).to_have_text(option)

    def _mark(self, field: Locator) -> None:
        """Choose a radio button with the arrows, or tick a box with the space bar."""
        if field.get_attribute("type") == "checkbox":
            self._reach(field)
            if not field.is_checked():
                self.page.keyboard.press("Space")
        else:
            self._reach_radio(field)
        expect(field).to_be_checked()

    def attach(self, label: str, *files: Path) -> None:
        """Choose files of this machine in the dialogue that the space bar opens."""
        self._reach(self._field(label))
        with self.page.expect_file_chooser() as opened:
            self.page.keyboard.press("Space")
        opened.value.set_files(list(files))

    def _activate(self, target: Locator) -> None:
        self._reach(target)
        self.page.keyboard.press("Enter")

    def _reach(self, target: Locator) -> None:
        """Go from one control to the next until this one has the focus."""
        sought = target.element_handle()
        for _ in range(sought.evaluate(STOPS_BETWEEN)):
            self.page.keyboard.press("Tab")
        for _ in range(MAX_TABS):
            if sought.evaluate("e => e === document.activeElement"):
                break
            self.page.keyboard.press("Tab")
        else:
            raise AssertionError(f"the Tab key does not reach {target}")
        assert sought.evaluate(VISIBLE_FOCUS), f"the focus on {target} cannot be seen"

    def _reach_radio(self, field: Locator) -> None:
        """Reach the group with the Tab key, then its button with the arrows."""
        name = field.get_attribute("name")
        for _ in range(MAX_TABS):
            if self.page.evaluate("name => document.activeElement.name === name", name):
                break
            self.page.keyboard.press("Tab")
        for _ in range(MAX_TABS):
            if field.evaluate("e => e === document.activeElement"):
                break
            self.page.keyboard.press("ArrowDown")
        if not field.is_checked():
            self.page.keyboard.press("Space")


class ScriptlessPerson(Person):
    """Somebody with a mouse whose browser runs no scripts."""

    def waits_for(self, found: Locator, text: str) -> None:
        """Reload the page until a part of it has this text."""

        def shows() -> bool:
            if found.inner_text() == text:
                return True
            self.page.reload()
            return False

        eventually(shows, text)


PEOPLE: dict[Way, type[Person]] = {"mouse": Person, "keyboard": KeyboardPerson, "no scripts": ScriptlessPerson}


@contextmanager
def person(browser: Browser, url: str, way: Way = "mouse", **options: Any) -> Iterator[Person]:
    """Somebody at a browser of their own; a fault in one of their pages fails the test."""
    with chromium.visit(browser, url, java_script_enabled=way != "no scripts", **options) as (context, faults):
        yield PEOPLE[way](context.new_page())
        faults.require_none()
