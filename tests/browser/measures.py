"""What the browser says of an open page: what overflows, moves, is hidden on paper or can be read there.

Each constant is a function of JavaScript that returns a list of faults, in the words that a test shows.
"""

from collections import Counter

from playwright.sync_api import Page

_TOOLS = """
const document = html ? new DOMParser().parseFromString(html, 'text/html') : window.document;
const place = (e) => {
  const name = e.localName + (e.id ? '#' + e.id : '') + [...e.classList].map((each) => '.' + each).join('');
  return (e.parentElement && e.parentElement !== document.body ? e.parentElement.localName + ' > ' : '') + name
    + ' "' + (e.textContent || '').trim().slice(0, 40) + '"';
};
const all = (selector) => [...document.querySelectorAll(selector)];
const shown = (e) => e.checkVisibility({visibilityProperty: true}) && e.getClientRects().length > 0;
const in_drawing = (e) => e.closest('svg') || e.parentElement?.closest('math');
const quietly_hidden = (e) => e.closest('.sr, .skip, [hidden]');
"""
SCROLLS_SIDEWAYS = """
const found = [];
const root = document.documentElement;
if (root.scrollWidth > window.innerWidth) {
  found.push(`the page is ${root.scrollWidth} px wide in a window of ${window.innerWidth} px`);
  for (const e of all('body *')) {
    const holder = e.parentElement.closest('.scroll');
    const held = holder && (getComputedStyle(e).position !== 'absolute' || holder.contains(e.offsetParent));
    if (shown(e) && !held && e.getBoundingClientRect().right > window.innerWidth + 1)
      found.push('reaches beyond the window: ' + place(e));
  }
}
for (const e of all('body *')) {
  if (!shown(e) || quietly_hidden(e) || e.scrollWidth <= e.clientWidth + 1 || in_drawing(e)) continue;
  const overflow = getComputedStyle(e).overflowX;
  if (['input', 'textarea', 'select', 'option'].includes(e.localName)) continue;
  const says_so = e.matches('[role=region][tabindex="0"][aria-label*="scrolls sideways"]');
  if (['auto', 'scroll'].includes(overflow) && !says_so) found.push('scrolls sideways and does not say so: ' + place(e));
  if (['hidden', 'clip'].includes(overflow)) found.push('is cut: ' + place(e));
}
return found;
"""
STICKY_CELLS = """
return all('th, td, tr, thead, col').filter((e) => ['sticky', 'fixed'].includes(getComputedStyle(e).position)).map(place);
"""
MOTION = """
const found = [];
for (const e of all('*')) {
  for (const part of [null, '::before', '::after']) {
    const style = getComputedStyle(e, part);
    if (style.animationName !== 'none') found.push('animation: ' + place(e));
    if (style.transitionDuration.split(',').some((each) => parseFloat(each) > 0)) found.push('transition: ' + place(e));
  }
}
if (getComputedStyle(document.documentElement).scrollBehavior !== 'auto') found.push('scrolls smoothly');
return found;
"""
ON_PAPER = """
const found = all('header nav, footer, form, button, .skip').filter(shown).map((e) => 'is printed: ' + place(e));
for (const e of all('main *')) {
  if (!shown(e) || quietly_hidden(e) || in_drawing(e) || e.scrollWidth <= e.clientWidth + 1) continue;
  if (getComputedStyle(e).overflowX !== 'visible') found.push('is cut on paper: ' + place(e));
}
if (all('main h1').filter(shown).length !== 1) found.push('the heading is not printed');
return found;
"""
UNREADABLE_ON_WHITE = """
const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
const rgb = (colour) => {
  canvas.fillStyle = '#fff'; canvas.fillRect(0, 0, 1, 1);
  canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
};
const linear = (value) => value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4;
const luminance = (colour) => {
  const [r, g, b] = rgb(colour).map(linear);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const found = [];
for (const e of all('main *')) {
  const own = [...e.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  if (!own || !shown(e) || quietly_hidden(e) || e.closest('svg')) continue;
  const contrast = 1.05 / (luminance(getComputedStyle(e).color) + 0.05);
  if (contrast < 4.5) found.push(`contrast ${contrast.toFixed(1)} on paper: ` + place(e));
}
return found;
"""
BLOCKING_SCRIPTS = """
return all('script').filter((e) => !e.src || !(e.defer || e.async || e.type === 'module')).map(place);
"""
CONTENT = """
const texts = (selector) => all(selector).map((e) => e.textContent.trim().replace(/\\s+/g, ' '));
return [
  ...texts('h1, h2, h3, h4, caption, th').map((text) => 'heading: ' + text),
  ...all('main a[href]').map((e) => 'link: ' + e.getAttribute('href')),
  ...all('form').map((e) => 'form: ' + e.getAttribute('method') + ' ' + (e.getAttribute('action') || '').replace(/([?&])key=[^&]*/, '$1key')),
  ...all('input[name], select[name], textarea[name]').map((e) => 'field: ' + e.name),
  ...all('table').map((e) => 'table: ' + e.querySelectorAll('tr').length + ' rows, ' + e.querySelectorAll('td').length + ' cells'),
  ...all('main svg, main math').map((e) => e.localName),
];
"""


def ask(page: Page, function: str) -> list[str]:
    """What a function of this module finds, without repetitions."""
    return list(dict.fromkeys(_answer(page, function)))


def content(page: Page, html: str | None = None) -> Counter[str]:
    """What the page holds, or what it would hold if it were made of this HTML and ran no scripts."""
    return Counter(_answer(page, CONTENT, html))


def differences(shown: Counter[str], expected: Counter[str]) -> list[str]:
    """What stands in only one of two contents, or more often in one."""
    more, less = shown - expected, expected - shown
    return [f"only with scripts: {each}" for each in more] + [f"only without scripts: {each}" for each in less]


def _answer(page: Page, function: str, html: str | None = None) -> list[str]:
    answer: list[str] = page.evaluate("html => {" + _TOOLS + function + "}", html)
    return answer
