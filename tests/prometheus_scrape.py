"""Reading the figures of a service as Prometheus does."""

import httpx
from prometheus_client.parser import text_string_to_metric_families

from tests.live_service import MAX_WAIT_SECONDS, eventually


class Scrape:
    """The figures of one moment."""

    def __init__(self, text: str) -> None:
        families = list(text_string_to_metric_families(text))
        self.samples = [sample for family in families for sample in family.samples]

    def value(self, name: str, **labels: str) -> float:
        """The sum of the samples that have these labels, 0 without one."""
        return sum(each.value for each in self.samples if each.name == name and labels.items() <= each.labels.items())

    def names(self) -> set[str]:
        """Of all samples."""
        return {each.name for each in self.samples}


def scrape(url: str) -> Scrape:
    """The figures of a service on this machine, with those of the database: a busy one may give these a scrape later."""
    scrapes: list[Scrape] = []

    def is_complete() -> bool:
        scrapes.append(scrape_once(url))
        return scrapes[-1].value("assay_database_up") == 1

    eventually(is_complete, "the database has answered in time")
    return scrapes[-1]


def scrape_once(url: str) -> Scrape:
    """The figures of a process at this moment; without those of the database if it does not answer in time."""
    answer = httpx.get(f"{url}/metrics", timeout=MAX_WAIT_SECONDS)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return Scrape(answer.text)
