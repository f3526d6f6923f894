"""The style sheet: contrast of its colours in light and dark, and the font of equations."""

import re

import pytest

from app.web.assets import FOLDER, asset_version
from tests.web.reader import Reader

CSS = (FOLDER / "page.css").read_text(encoding="utf-8")
TEXTS = ("ink", "ink-2", "ink-3", "accent", "good", "warn", "bad")
GROUNDS = ("paper", "paper-2")
GRAPHICS = ("line-strong", "accent", "bar-strong", "bad")
MAX_FONT_BYTES = 200_000


def tokens(theme: str) -> dict[str, str]:
    """The colours of a theme."""
    layer = CSS[CSS.index("@layer tokens {") : CSS.index("@layer base {")]
    light, _, dark = layer.partition("@media (prefers-color-scheme: dark)")
    own = dict(re.findall(r"--([a-z0-9-]+):\s*(#[0-9a-f]{6})", light))
    return own | dict(re.findall(r"--([a-z0-9-]+):\s*(#[0-9a-f]{6})", dark)) if theme == "dark" else own


def luminance(colour: str) -> float:
    """The relative luminance of WCAG 2."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2."""
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_texts_have_a_contrast_of_4_5_and_graphics_of_3(theme: str) -> None:
    colours = tokens(theme)
    texts = [(text, ground) for text in TEXTS for ground in GROUNDS]
    texts += [("on-accent", "accent"), ("ink", "accent-soft"), ("ink-2", "accent-soft"), ("accent", "accent-soft")]
    texts += [("bad", "bad-soft"), ("ink", "bad-soft")]
    low = {pair: contrast(*(colours[name] for name in pair)) for pair in texts}
    low |= {(name, "paper"): contrast(colours[name], colours["paper"]) + 1.5 for name in GRAPHICS if name not in TEXTS}
    assert {pair: round(ratio, 2) for pair, ratio in low.items() if ratio < 4.5} == {}


def test_black_on_white_has_the_known_contrast() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def test_every_colour_of_the_dark_theme_replaces_one_of_the_light_theme() -> None:
    assert tokens("dark").keys() == tokens("light").keys()
    used = set(re.findall(r"var\(--([a-z0-9-]+)\)", CSS))
    declared = set(re.findall(r"--([a-z0-9-]+):", CSS))
    assert used <= declared


def test_the_font_of_equations_is_small_and_served_with_its_licence(reader: Reader) -> None:
    (address,) = re.findall(r'url\("(math\.woff2\?v=[0-9a-f]+)"\)', CSS)
    assert address == f"math.woff2?v={asset_version('math.woff2')}"
    font = reader.get(f"/static/{address}")
    assert font.headers["content-type"] == "font/woff2"
    assert "immutable" in font.headers["cache-control"]
    assert len(font.content) < MAX_FONT_BYTES
    assert font.content[:4] == b"wOF2"
    assert "SIL OPEN FONT LICENSE" in reader.get("/static/math-licence.txt").text
