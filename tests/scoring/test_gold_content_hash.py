"""Two golds have the same name exactly if they are the same to a scorer."""

from typing import Any

from app.scoring.gold_content_hash import gold_content_hash
from tests.each_case import for_each

OWN: dict[str, Any] = {
    "sha256": "0" * 64,
    "kind": {"format": "csv", "encoding": "", "layout": ""},
    "task": "multiclass",
    "positive_label": None,
    "classes": ("a", "b"),
    "metadata": {"folds": {"t1": "1", "t2": "2"}},
}


def test_it_is_a_name_for_a_file_and_the_same_every_time() -> None:
    name = gold_content_hash(**OWN)
    assert len(name) == 64
    assert set(name) <= set("0123456789abcdef")
    assert gold_content_hash(**OWN | {"classes": ["a", "b"], "kind": OWN["kind"] | {"path": "elsewhere"}}) == name


@for_each(
    "field, value",
    [
        ("sha256", "1" * 64),
        ("kind", {"format": "tsv", "encoding": "", "layout": ""}),
        ("kind", {"format": "csv", "encoding": "gzip", "layout": ""}),
        ("kind", {"format": "csv", "encoding": "", "layout": "long"}),
        ("task", "multilabel"),
        ("positive_label", "a"),
        ("classes", ("b", "a")),
        ("classes", ("a", "b", "c")),
        ("metadata", {}),
        ("metadata", {"folds": {"t1": "1", "t2": "1"}}),
        ("metadata", {"groups": {"t1": "1", "t2": "2"}}),
        ("metadata", {"folds": {"t2": "2", "t1": "1"}}),
    ],
)
def test_whatever_scoring_depends_on_changes_it(field: str, value: Any) -> None:
    assert gold_content_hash(**OWN | {field: value}) != gold_content_hash(**OWN)
