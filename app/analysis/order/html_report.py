"""The report on an order as one HTML file that needs nothing else: conclusion, chart, table, notes, how to read it."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from app.analysis.order.rank_chart import MAX_CHARTED, rank_chart
from app.analysis.order.rankings_text import rankings_html

_STYLE = """
:root{color-scheme:light dark;--ink:#1c2430;--paper:#fff;--line:#c9d0d9;--soft:#5b6675;--accent:#1f5fa8}
@media(prefers-color-scheme:dark){:root{--ink:#e4e9f0;--paper:#12161c;--line:#333c48;--soft:#9aa6b5;--accent:#7fb2ee}}
body{margin:2rem auto;max-width:62rem;padding:0 1rem;font:16px/1.5 system-ui,sans-serif;color:var(--ink);
background:var(--paper)}
h1{font-size:1.6rem;line-height:1.2}h2{font-size:1.15rem;margin-top:2.2rem}
.conclusion{font-size:1.1rem;border-left:4px solid var(--accent);padding-left:1rem}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--soft)}
th,td{padding:.25rem .9rem .25rem 0;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th[scope=row]{text-align:left;font-weight:normal}
table:not(.plain) :is(th,td):nth-child(2){text-align:left;white-space:normal;overflow-wrap:anywhere}
.facts{color:var(--soft)}
.band,.mark{fill:var(--accent)}.whisker,.rank-set{stroke:var(--accent)}
"""
_READING = (
    (
        "<b>Interval</b>: where the value on all instances like these may lie, with 95 % confidence. It says nothing "
        "about training again, wrong labels, or the choice of the best of many systems."
    ),
    (
        "<b>Rank set</b>: one more than the number of systems that are significantly better, to the number of systems minus "
        "those that are significantly worse. With about 95 % confidence all rank sets hold together, for systems that "
        "were fixed before these instances were seen."
    ),
    (
        "<b>Tie group</b>: from its first system downwards until one differs from that first system. Members may differ "
        "from each other. They are not shown to differ at 5 %, which does not mean that they are equal."
    ),
    "<b>First</b>: the share of bootstrap draws in which the system has the best value.",
)


def html_report(report: Mapping[str, Any], *, name: str) -> str:
    """The file; `name` says which table it is about."""
    title = f"How sure is this order? {escape(name)}"
    size = len(report["rows"])
    cut = f"<p>The chart shows the first {MAX_CHARTED} of {size:,} systems.</p>" if size > MAX_CHARTED else ""
    notes = "".join(f"<li>{escape(note)}</li>" for note in report["notes"])
    notes += "".join(f"<li>{escape(note)}</li>" for note in notes_on_systems(report["rows"]))
    reading = "".join(f"<li>{text}</li>" for text in _READING)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
        f'<p class="conclusion">{escape(report["conclusion"])}</p>\n<p class="facts">{_facts(report)}</p>\n'
        "<h2>Values and ranks</h2>\n"
        '<div class="scroll" tabindex="0" role="region" aria-label="Chart, scrolls sideways">'
        f"{rank_chart(report)}</div>\n{cut}"
        f"<h2>Table</h2>\n{''.join(_table(report))}\n"
        + (rankings_html(report["rankings"]) if "rankings" in report else "")
        + (f"<h2>Notes</h2>\n<ul>{notes}</ul>\n" if notes else "")
        + f"<h2>How to read this</h2>\n<ul>{reading}</ul>\n</body>\n</html>\n"
    )


def notes_on_systems(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Each note on an interval once, with the systems that it is about."""
    systems: dict[str, list[str]] = {}
    for row in rows:
        for note in row["notes"]:
            systems.setdefault(note, []).append(row["system"])
    return [
        f"{names[0]}{f' and {len(names) - 1:,} more' if len(names) > 1 else ''}: {note}"
        for note, names in systems.items()
    ]


def _facts(report: Mapping[str, Any]) -> str:
    better = "larger is better" if report["direction"] == "higher" else "smaller is better"
    groups = "" if report["groups"] is None else f" · groups drawn whole: {report['groups']:,}"
    return (
        f"systems: {len(report['rows']):,} · instances: {report['n']:,}{groups} · bootstrap draws: {report['draws']:,} "
        f"· {escape(report['metric'])}, {better}"
    )


def _table(report: Mapping[str, Any]) -> Iterator[str]:
    yield '<div class="scroll" tabindex="0" role="region" aria-label="Table, scrolls sideways"><table>'
    yield "<caption>Best first; the first column has the rank sets at 5 %.</caption><thead><tr>"
    for heading in ("ranks", "system", "value", "95 % interval", "rank", "tie group", "first"):
        yield f'<th scope="col">{heading}</th>'
    yield "</tr></thead><tbody>"
    for row in report["rows"]:
        cells = [
            rank_set_text(row),
            escape(row["system"]),
            "" if row["value"] is None else f"{row['value']:.6g}",
            interval_text(row),
            "" if row["rank"] is None else f"{row['rank']}",
            "" if row["tie_group"] is None else f"{row['tie_group']}",
            escape(first_share_text(row)),
        ]
        yield f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
    yield "</tbody></table></div>"


def rank_set_text(row: Mapping[str, Any]) -> str:
    """The rank set of a row as text: 1, or 2 to 5; empty if it has none."""
    low, high = row["rank_low"], row["rank_high"]
    if low is None:
        return ""
    return f"{low}" if low == high else f"{low} to {high}"


def interval_text(row: Mapping[str, Any]) -> str:
    """The interval of a row as text; empty if it has none."""
    return "" if row["low"] is None else f"{row['low']:.4g} to {row['high']:.4g}"


def first_share_text(row: Mapping[str, Any]) -> str:
    """How often a row is first, as a percentage; empty if that is unknown."""
    share = row["first_share"]
    if share is None:
        return ""
    return "< 0.1 %" if 0 < share < 0.001 else f"{share * 100:.1f} %"
