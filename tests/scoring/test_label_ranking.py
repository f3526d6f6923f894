"""Ranks of relevant labels against counts one by one, for every size of the blocks in which scores are sorted."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.scoring import label_ranking
from app.scoring.evaluation_input import Labels
from app.scoring.label_ranking import UNLISTED, LabelRanks, RelevantLabels, rank_by_order, rank_by_scores

MANY = settings(max_examples=150, deadline=None)
SETS = {"unknown_label": "reject", "duplicates": "reject"}


def labels(rows: list[list[int]]) -> Labels:
    flat = [code for row in rows for code in row]
    return Labels(np.array(flat, dtype=np.int32), np.cumsum([0, *map(len, rows)], dtype=np.int64))


def as_rows(ranks: LabelRanks) -> list[dict[int, tuple[int, ...]]]:
    """For each instance the ranks of each relevant label."""
    found: list[dict[int, tuple[int, ...]]] = [{} for _ in ranks.sizes]
    columns = (
        ranks.above, ranks.tied, ranks.relevant_above, ranks.relevant_tied, ranks.order_in_tie,
        ranks.tied_declared_earlier,
    )  # fmt: skip
    for row, code, *numbers in zip(ranks.rows.tolist(), ranks.codes.tolist(), *columns, strict=True):
        found[row][code] = tuple(int(number) for number in numbers)
    return found


def count_ranks(scores: list[float], gold: set[int]) -> dict[int, tuple[int, ...]]:
    found: dict[int, tuple[int, ...]] = {}
    for label in gold:
        above = [other for other, score in enumerate(scores) if score > scores[label]]
        tied = [other for other, score in enumerate(scores) if score == scores[label]]
        among = sorted(gold & set(tied))
        earlier = sum(other < label for other in tied)
        found[label] = (len(above), len(tied), len(gold & set(above)), len(among), among.index(label), earlier)
    return found


@pytest.mark.parametrize("block", [1, 7, 2**18])
@given(data=st.data(), m=st.integers(1, 9), n=st.integers(0, 9))
@MANY
def test_every_number_is_that_of_a_count(block: int, data: st.DataObject, m: int, n: int) -> None:
    levels = st.sampled_from(
        [float("-inf"), -1.0, 0.0, -0.0, 1e-300, 2.5, float("inf")][: data.draw(st.integers(1, 7))]
    )
    scores = data.draw(st.lists(st.lists(levels, min_size=m, max_size=m), min_size=n, max_size=n))
    gold = data.draw(st.lists(st.lists(st.integers(0, m - 1), max_size=m + 1), min_size=n, max_size=n))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(label_ranking, "_BLOCK_SCORES", block)
        ranks = rank_by_scores(
            np.array(scores, dtype=np.float64).reshape(n, m), RelevantLabels.from_gold(labels(gold), m)
        )
        found = as_rows(ranks)
    assert found == [count_ranks(row, set(own)) for row, own in zip(scores, gold, strict=True)]
    assert ranks.sizes.tolist() == [len(set(own)) for own in gold]
    assert ranks.rows.tolist() == sorted(ranks.rows.tolist())


@given(data=st.data(), m=st.integers(1, 6), n=st.integers(0, 6))
@MANY
def test_a_list_ranks_its_labels_and_no_others(data: st.DataObject, m: int, n: int) -> None:
    several = st.lists(st.integers(0, m - 1), unique=True)
    gold = data.draw(st.lists(several, min_size=n, max_size=n))
    sent = data.draw(st.lists(several, min_size=n, max_size=n))
    found = as_rows(rank_by_order(labels(sent), RelevantLabels.from_gold(labels(gold), m), m, SETS))
    for numbers, row, own in zip(found, sent, gold, strict=True):
        assert set(numbers) == set(own)
        for label, (above, tied, hits, among, *_) in numbers.items():
            if label in row:
                at = row.index(label)
                assert (above, tied, hits, among) == (at, 1, len(set(row[:at]) & set(own)), 1)
            else:
                assert above == UNLISTED
                assert hits == len(set(row) & set(own))


def test_labels_from_outside_the_vocabulary_have_no_rank() -> None:
    relevant = RelevantLabels.from_gold(labels([[2, 0, 2], [1]]), 2)
    assert (relevant.rows.tolist(), relevant.codes.tolist(), relevant.sizes.tolist()) == ([0, 1], [0, 1], [1, 1])
