"""What conventions under which a predicted set may have any size let values tell of single labels."""

import itertools
import math
from collections import defaultdict
from collections.abc import Mapping

import pytest

from app.scoring.declaration.distinct_value_bounds import GoldSize
from app.scoring.declaration.metric_parser import parse_metric
from tests.each_case import for_each
from tests.scoring.case_builder import case, results

PRIMES = (2, 3, 5, 7, 11, 13, 17, 19)
UNKNOWN, REPEATED = {"unknown_label": "count_as_fp"}, {"duplicates": "multiset"}
OF_ANY_SIZE: dict[str, tuple[Mapping[str, str], list[list[str]], list[str]]] = {  # conventions, predictions, metrics
    "unknown labels": (UNKNOWN, [["a"] + ["z"] * (p - 1) for p in PRIMES], ["precision_samples", "jaccard_samples"]),
    "unknown labels ahead": (UNKNOWN, [["z"] * (p - 1) + ["a"] for p in PRIMES], ["mrr"]),
    "repetitions": (REPEATED, [["a"] * p for p in PRIMES], ["precision_samples", "jaccard_samples"]),
    "repetitions in gold, too": (
        REPEATED,
        [["a"] * 2**at for at in range(8)],
        ["f1:label=a", "precision_macro", "precision_micro"],
    ),
}


@for_each("way", OF_ANY_SIZE)
def test_sizes_of_predicted_sets_can_tell_every_labelling_apart(way: str) -> None:
    options, sent, metrics = OF_ANY_SIZE[way]
    seen = defaultdict[str, set[float | None]](set)
    owned = [row if "gold" in way else ["a"] for row in sent]
    for gold in itertools.product(*([[], own] for own in owned)):
        for text, result in results(case("multilabel", ("a",), gold, sent), metrics, options).items():
            seen[text].add(result.value)
    larger = GoldSize(60, 1, multilabel=True)
    for text in metrics:
        assert len(seen[text]) == 2 ** len(sent), text
        free = parse_metric(text, options=options, task="multilabel")
        assert free.metric.granularity.bits(larger, free) == larger.bits, text
        assert free.metric.granularity.separates(free, sets=True), text
        plain = parse_metric(text, task="multilabel")
        assert plain.metric.granularity.bits(larger, plain) < larger.bits, text


def test_true_negatives_that_unknown_labels_displace_are_counted_too() -> None:
    sizes, metrics = GoldSize(6, 2, multilabel=True), ["specificity_micro", "accuracy_ovr_micro"]
    sent = [["z"], ["z", "z"], ["a", "z"], ["b", "z", "z"], [], ["a", "b", "z"]]
    seen = defaultdict[str, set[float | None]](set)
    for gold in itertools.product([(), ("a",), ("b",), ("a", "b")], repeat=6):
        for text, result in results(case("multilabel", ("a", "b"), gold, sent), metrics, UNKNOWN).items():
            seen[text].add(result.value)
    larger = GoldSize(1000, 20, multilabel=True)
    for text in metrics:
        call, plain = (parse_metric(text, options=options, task="multilabel") for options in (UNKNOWN, {}))
        assert len(seen[text]) <= 2 ** call.metric.granularity.bits(sizes, call) + 1
        more = call.metric.granularity.bits(larger, call) - plain.metric.granularity.bits(larger, plain)
        assert more == pytest.approx(math.log2(21_001))
