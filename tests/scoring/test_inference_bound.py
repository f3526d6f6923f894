"""The inference bound of published numbers, against small cases in which every labelling is tried."""

import itertools
import json
import math
import re
from typing import Any

import numpy as np
import pytest

from app.scoring.declaration.distinct_value_bounds import GoldSize
from app.scoring.declaration.recipe import ScoringRecipe, parse_recipe
from app.scoring.disclosure.comparison_bits import NOTE_BITS
from app.scoring.disclosure.inference_bound import (
    BINARY64_BITS,
    DisclosureRules,
    InferenceBound,
    compute_inference_bound,
    digit_bits,
    rank_bits,
)
from app.scoring.disclosure.wording import describe_inference_bound, inference_warning, suggest_reductions
from app.scoring.reports.detailed_report import build_detailed_report
from app.scoring.standings import round_significant
from app.scoring.uncertainty.bootstrap_interval import percentile_interval
from tests.each_case import for_each
from tests.scoring.case_builder import case, value


def recipe(primary: str, *metrics: str, digits: int | str = 6, task: Any = "multiclass") -> ScoringRecipe:
    body = {"primary": primary, "metrics": [primary, *metrics], "disclosure": {"digits": digits}}
    return parse_recipe(body, task, positive_label="a" if task == "binary" else None)


def bound_of(
    submissions: int | None, primary: str, *metrics: str, sizes: GoldSize | None = None, **more: Any
) -> InferenceBound:
    """The bound where scores are shown and no board."""
    weighted, digits, task = more.pop("weighted", False), more.pop("digits", 6), more.pop("task", "multiclass")
    rules = DisclosureRules(submissions, **{"board": "hidden", "reports": ["scores"], "own_rows": 1, **more})
    return compute_inference_bound(recipe(primary, *metrics, digits=digits, task=task), rules, sizes, weighted=weighted)


@for_each("digits, least", [(1, 0.001), (2, 0.01)])
def test_digits_bound_how_many_values_can_be_shown(digits: int, least: float) -> None:
    shown = {round_significant(at * least / 100, digits) for at in range(round(100 / least) + 1)}
    assert len(shown) <= 2 ** digit_bits(digits, (0.0, 1.0))
    assert digit_bits(digits, (-1.0, 1.0)) == pytest.approx(digit_bits(digits, (0.0, 1.0)) + 1, abs=0.01)
    assert digit_bits(digits + 1, (0.0, 1.0)) == pytest.approx(digit_bits(digits, (0.0, 1.0)) + math.log2(10), abs=0.01)
    assert digit_bits(digits, (0.0, math.inf)) > digit_bits(digits, (0.0, 1.0))
    assert digit_bits(None, (0.0, 1.0)) == BINARY64_BITS
    assert math.log2(len(shown)) <= digit_bits(digits, (0.0, 1.0), least / 100) < digit_bits(digits, (0.0, 1.0)) - 3


def test_a_place_among_others_is_above_below_or_level_with_each() -> None:
    assert [round(2 ** rank_bits(rivals)) for rivals in (0, 1, 2)] == [1, 3, 5]


@for_each("metrics", [("accuracy",), ("f1_macro", "accuracy"), ("brier", "log_loss")])
def test_no_two_answers_tell_more_labellings_apart_than_the_bound_says(metrics: tuple[str, ...]) -> None:
    scores = [[[0.7, 0.3], [0.2, 0.8], [0.55, 0.45], [0.9, 0.1]], [[0.6, 0.4], [0.6, 0.4], [0.1, 0.9], [0.1, 0.9]]]
    seen = set()
    for gold in itertools.product("ab", repeat=4):
        files = [
            case("binary", "ab", gold, ["a" if one[0] > 0.5 else "b" for one in file], [one[:1] for one in file])
            for file in scores
        ]
        seen.add(tuple(round_significant(value(file, metric), 3) for file in files for metric in metrics))
    found = bound_of(2, *metrics, sizes=GoldSize(4, 2), digits=3, task="binary")
    assert math.log2(len(seen)) <= found.total <= 4
    assert found.labels is not None
    assert found.labels >= math.log2(len(seen))


BOTH_KINDS = ["a", "a", "b", "b", "stray", "stray", None, None]


@for_each("report", ["per_class", "confusion"])
@for_each("n", [4, 7, 8])
def test_reports_of_missing_and_unknown_predictions_tell_no_more_than_the_bound(report: str, n: int) -> None:
    seen = {
        json.dumps(build_detailed_report(case("binary", "ab", gold, BOTH_KINDS[-n:]), {}, parts=[report]))
        for gold in itertools.product("ab", repeat=n)
    }
    rules = DisclosureRules(1, "hidden", [report])
    assert (
        math.log2(len(seen))
        <= compute_inference_bound(recipe("accuracy", task="binary"), rules, GoldSize(n, 2)).total + 1e-9
    )
    assert len(seen) == {4: 9, 7: 54, 8: 81}[n] or report == "per_class"


def test_known_labels_are_at_most_submissions_times_bits_by_bits_of_a_label() -> None:
    found = bound_of(3, "accuracy", sizes=GoldSize(1000, 4))
    assert found.per_submission == pytest.approx(math.log2(1002))
    assert found.total == pytest.approx(3 * math.log2(1002))
    assert found.labels == math.ceil(3 * math.log2(1002) / 2)
    assert bound_of(10_000, "accuracy", sizes=GoldSize(1000, 4)).labels == 1000
    many = bound_of(3, "hamming_loss", sizes=GoldSize(1000, 4, multilabel=True), task="multilabel")
    assert many.labels == math.ceil(many.total)
    assert bound_of(None, "accuracy", sizes=GoldSize(30, 2)).labels == 30
    assert bound_of(0, "accuracy", sizes=GoldSize(30, 2)).labels == 0


def test_metrics_add_up_and_digits_bound_those_whose_value_may_differ_for_every_labelling() -> None:
    sizes = GoldSize(1000, 2)
    one, two = bound_of(1, "log_loss", sizes=sizes), bound_of(1, "log_loss", "brier_multiclass_sum", sizes=sizes)
    assert one.per_submission == pytest.approx(digit_bits(6, (0.0, 37.0)))
    assert two.per_submission > 1.9 * one.per_submission
    assert bound_of(1, "log_loss", sizes=sizes, digits=2).per_submission < one.per_submission - 13
    assert bound_of(1, "log_loss", sizes=sizes, digits="full").per_submission == BINARY64_BITS
    assert [each.call.text for each in two.separating] == ["log_loss", "brier_multiclass_sum"]
    assert not bound_of(1, "accuracy", sizes=sizes).separating


def test_weights_of_instances_can_tell_every_labelling_apart() -> None:
    sizes = GoldSize(20, 2)
    assert bound_of(1, "accuracy", sizes=sizes).per_submission < 5
    weighted = bound_of(1, "accuracy", sizes=sizes, weighted=True)
    assert weighted.per_submission == 20
    assert weighted.separating
    of_weights = {
        value(case("binary", "ab", gold, "aaaaa", weights=[1, 2, 4, 8, 16]), "accuracy")
        for gold in itertools.product("ab", repeat=5)
    }
    assert len(of_weights) == 32


def test_a_public_board_tells_values_at_full_precision_and_one_after_the_close_one_place_beside_others() -> None:
    """A second account, whose values are known, sets row after row beside another one and so reads it to the last digit."""
    sizes = GoldSize(1000, 2)
    own = bound_of(2, "log_loss", sizes=sizes)
    for digits in (1, 6, "full"):
        public = bound_of(2, "log_loss", sizes=sizes, board="public", rivals=7, digits=digits)
        assert public.per_submission == BINARY64_BITS
        assert "digits" not in " ".join(suggest_reductions(public))
    assert bound_of(30, "log_loss", sizes=GoldSize(27, 2), board="public", digits=1).per_submission == 27
    closed = bound_of(2, "log_loss", sizes=sizes, board="after_close", rivals=7)
    assert closed.per_submission == own.per_submission
    assert closed.total == pytest.approx(own.total + math.log2(15))
    assert "fewer digits" in suggest_reductions(closed)
    count = bound_of(2, "accuracy", sizes=sizes, board="public", rivals=7)
    assert count.per_submission == bound_of(2, "accuracy", sizes=sizes).per_submission
    assert "full precision, because the board ranks" in describe_inference_bound(count)


def test_a_board_after_the_close_tells_once_for_each_row_that_a_team_can_have() -> None:
    sizes = GoldSize(1000, 2)
    for reports in ([], ["scores"]):
        told: dict[str, Any] = {"sizes": sizes, "board": "after_close", "rivals": 7, "reports": reports}
        one, three = (bound_of(8, "log_loss", **told, own_rows=rows) for rows in (1, 3))
        assert three.once == pytest.approx(3 * one.once)
        assert three.choice == 3 * one.choice
        assert bound_of(2, "log_loss", **told, own_rows=3).once == bound_of(2, "log_loss", **told, own_rows=2).once


def test_nothing_shown_tells_nothing_and_a_board_after_the_close_tells_once() -> None:
    sizes = GoldSize(1000, 2)
    assert bound_of(None, "log_loss", sizes=sizes, reports=[]).labels == 0
    once = bound_of(1, "log_loss", sizes=sizes, reports=[], board="after_close", rivals=0)
    assert once.total == once.once == pytest.approx(digit_bits(6, (0.0, 37.0)))
    shown = bound_of(1000, "log_loss", sizes=sizes, board="after_close", rivals=0)
    assert shown.once == 0


def test_a_board_after_the_close_names_one_of_the_files_of_a_team_that_was_shown_no_values() -> None:
    every = list(itertools.product("ab", repeat=5))
    best = set()
    for gold in every:
        shown = [round_significant(value(case("binary", "ab", gold, file), "accuracy"), 1) for file in every]
        best.add(
            (shown.index(max(one for one in shown if one is not None)), max(one for one in shown if one is not None))
        )
    assert len(best) == 32
    found = bound_of(32, "accuracy", sizes=GoldSize(5, 2), reports=[], board="after_close", digits=1, task="binary")
    assert (found.total, found.labels) == (5, 5)
    few = bound_of(4, "accuracy", sizes=GoldSize(1000, 2), reports=[], board="after_close", rivals=0)
    assert few.total == pytest.approx(math.log2(1002) + 2)
    assert "which of the team's files" in describe_inference_bound(few)
    for sizes in (None, GoldSize(1000, 2)):
        endless = bound_of(None, "accuracy", sizes=sizes, reports=[], board="after_close")
        assert endless.is_unbounded
        assert "number of submissions is unlimited" in describe_inference_bound(endless)
    assert inference_warning(bound_of(None, "log_loss", reports=[], board="after_close")) is not None
    assert inference_warning(bound_of(2, "log_loss", reports=[], board="after_close")) is None


def test_reports_count_too() -> None:
    sizes = GoldSize(1000, 2)
    bits = {
        report: bound_of(1, "accuracy", sizes=sizes, reports=["scores", report]).per_submission
        for report in ("scores", "per_class", "confusion", "curves")
    }
    assert bits["scores"] < bits["per_class"] < 60
    assert bits["scores"] < bits["confusion"] < 60
    assert bits["curves"] == 1000
    assert bound_of(1, "accuracy", sizes=sizes, reports=["per_class"], has_partitions=True).per_submission == 1000


def test_without_gold_the_digits_alone_bound_a_submission() -> None:
    found = bound_of(5, "f1_macro", "accuracy")
    assert found.labels is None
    assert found.total == pytest.approx(10 * digit_bits(6, (0.0, 1.0)))
    assert not found.is_unbounded
    assert bound_of(None, "accuracy").is_unbounded
    assert bound_of(5, "accuracy", reports=["curves"]).is_unbounded


def test_hierarchical_metrics_of_label_sets_may_tell_every_labelling_apart() -> None:
    sizes = GoldSize(50, 4, multilabel=True)
    assert bound_of(1, "hierarchical_f1", sizes=sizes, task="multilabel", sets=True).separating
    assert not bound_of(1, "hierarchical_f1", sizes=GoldSize(50, 4)).separating


@for_each("option", ["unknown_label=count_as_fp", "duplicates=multiset"])
def test_reports_per_class_of_sets_of_any_size_may_tell_every_labelling_apart(option: str) -> None:
    sizes = GoldSize(1000, 20, multilabel=True)
    for metric, most in (("subset_accuracy", sizes.bits / 2), (f"subset_accuracy:{option}", sizes.bits)):
        found = bound_of(1, metric, sizes=sizes, task="multilabel", reports=["per_class"], sets=True)
        assert (found.per_submission == sizes.bits) == (most == sizes.bits)


def test_small_values_of_sets_of_any_size_are_not_taken_for_none() -> None:
    sizes = GoldSize(40, 1, multilabel=True)
    few = {
        option: bound_of(1, f"precision_samples{option}", sizes=sizes, task="multilabel", digits=1, sets=True)
        for option in ("", ":unknown_label=count_as_fp")
    }
    assert few[""].per_submission < few[":unknown_label=count_as_fp"].per_submission
    assert few[":unknown_label=count_as_fp"].separating
    assert not few[""].separating


def test_the_bits_of_notes_cover_the_numbers_that_they_name() -> None:
    draws = np.random.default_rng(1).normal(0.5, 0.1, 1999)
    draws[:123] = np.nan
    notes = " ".join(percentile_interval(0.45, draws).notes)
    assert "null in 123 of 1999" in notes
    moved = re.search(r"moves the value by (-?[0-9.]+(e-[0-9]+)?);", notes)
    assert moved is not None
    three_digits = 2 * 900 * (12 + 308)  # a sign, the digits, and a power of ten from 1e-12 to the largest number
    flags = 2**4  # the method, no width, rare classes, no interval
    assert math.log2(2000 * three_digits * flags) <= NOTE_BITS


def test_a_history_tells_of_every_entry_although_its_board_is_shown_after_the_close() -> None:
    told: dict[str, Any] = {"sizes": GoldSize(10_000, 10), "board": "after_close", "rivals": 0}
    last = bound_of(100, "accuracy", reports=[], **told)
    every = bound_of(100, "accuracy", reports=["history"], **told)
    public = bound_of(100, "accuracy", reports=[], **told | {"board": "public"})
    assert last.total < every.total == public.total
    hidden = bound_of(100, "accuracy", reports=["history"], **told | {"board": "hidden"})
    assert hidden.total == 0
