"""Rankings by several metrics in words and as HTML."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

LISTED_FLIPS = 100
_Rankings = Mapping[str, Any]


def flip_count(rankings: _Rankings) -> int:
    """How many pairs flip, counted for each two metrics."""
    return sum(sum(counts.values()) for counts in rankings["flip_counts"].values()) // 2


def rankings_sentence(rankings: _Rankings) -> str:
    """What the flips say of the choice of the metric."""
    flips, metrics = flip_count(rankings), len(rankings["metrics"])
    if metrics < 2:
        return "There is one ranking, so there is nothing to compare it with."
    if not flips:
        return "No pair changes places between these metrics."
    significant = rankings["significant_flips"]
    if not significant:
        return (
            "Some pairs change places from metric to metric, but no such pair is shown to differ at 5 % under both: it is "
            "not shown that the choice of the metric decides who is better."
        )
    changes = "1 change" if flips == 1 else f"{flips:,} changes"
    return (
        f"Of {changes} of places between two metrics, {significant:,} {'is' if significant == 1 else 'are'} significant: "
        "each of the two metrics shows, at 5 %, that the pair differs, in opposite orders. There the choice of the "
        "metric decides who is better."
    )


def tau_rows_text(rankings: _Rankings) -> str:
    """Over how many systems tau-b is computed: those that both metrics rank."""
    sizes = {rows for of in rankings["tau_rows"].values() for rows in of.values()}
    return f"n = {sizes.pop():,}" if len(sizes) == 1 else "over the systems that both rank"


def metric_strings(rankings: _Rankings) -> list[str]:
    """The metrics, that of the order first."""
    return [str(each["metric"]) for each in rankings["metrics"]]


def flip_text(flip: Mapping[str, Any]) -> str:
    """One pair that flips, as a sentence."""
    one, other = flip["metrics"]
    meaning = "significant" if flip["significant"] else "not significant"
    return f"{one}: '{flip['a']}' before '{flip['b']}'; {other}: '{flip['b']}' before '{flip['a']}' ({meaning})"


def tau_text(rankings: _Rankings, one: str, other: str) -> str:
    """Kendall's tau-b of two rankings; empty where one of them puts all systems at the same place."""
    tau = rankings["tau"][one][other]
    return "" if tau is None else f"{tau:.3f}"


def rankings_html(rankings: _Rankings) -> str:
    """The section of a report: ranks by each metric, agreement, flips."""
    metrics = metric_strings(rankings)
    ranks = ([row["system"], *(_rank(row["ranks"][text]) for text in metrics)] for row in rankings["rows"])
    taus = ([one, *(tau_text(rankings, one, other) for other in metrics)] for one in metrics)
    count, flips = flip_count(rankings), rankings["flips"][:LISTED_FLIPS]
    listed = "".join(f"<li>{escape(flip_text(flip))}</li>" for flip in flips)
    cut = f"<p>The first {len(flips):,} of {count:,}:</p>\n" if len(flips) < count else ""
    return (
        f"<h2>Rankings by other metrics</h2>\n<p>{escape(rankings_sentence(rankings))}</p>\n"
        + _table("Ranks by each metric; 1 is best.", ["system", *metrics], ranks)
        + _table(f"Kendall's tau-b between the rankings, {tau_rows_text(rankings)}.", ["metric", *metrics], taus)
        + (f"<h3>Pairs that change places</h3>\n{cut}<ul>{listed}</ul>\n" if flips else "")
    )


def _rank(rank: int | None) -> str:
    return "" if rank is None else f"{rank}"


def _table(caption: str, headings: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in headings)
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in row[1:])}</tr>'
        for row in rows
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}"><table class="plain">'
        f"<caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>\n"
    )
