"""The page on reports tells of every part, of what opens it, and of every metric that a report holds."""

import re
from pathlib import Path

from app.scoring.declaration.metric import CATALOGUE
from app.scoring.reports.detailed_report import REPORT_PARTS
from app.scoring.reports.per_class_report import REPORTED_METRICS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")


def test_every_part_stands_with_what_opens_it() -> None:
    told = re.findall(r"^\| `(\w+)` \| `(\w+)` \| .+ \|$", PAGE, flags=re.MULTILINE)
    assert told == list(REPORT_PARTS.items())


def test_every_part_has_a_table_of_rows() -> None:
    tables = PAGE.partition("rows of the table")[2].partition("## ")[0]
    first = "".join(re.findall(r"^\|([^|]+)\|", tables, flags=re.MULTILINE))
    assert set(re.findall(r"`(\w+)`", first)) == set(REPORT_PARTS)


def test_every_metric_that_is_no_number_has_a_link_that_leads_somewhere() -> None:
    links = dict(re.findall(r"\[`(\w+)`\]\((metrics/\w+\.md)#\1\)", PAGE))
    assert set(links) == {key for key, metric in CATALOGUE.items() if not metric.scalar}
    assert set(links) >= REPORTED_METRICS
    for key, page in links.items():
        assert f"## `{key}`\n" in (ROOT / "docs" / page).read_text(encoding="utf-8")


def test_the_page_is_found_from_the_others() -> None:
    assert "(docs/reports.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "(../reports.md)" in (ROOT / "docs" / "metrics" / "README.md").read_text(encoding="utf-8")
