"""The boosting attack climbs a plain board and not one that tells the outputs of a Ladder."""

from statistics import mean

import pytest

from tests.each_case import for_each
from tests.scoring.uncertainty.boosting_attack import BOARDS, attack, shown_accuracies

SIZES = {"instances": 1_000, "files": 500, "repetitions": 4}


def test_on_a_plain_board_a_majority_of_random_files_seems_to_be_good() -> None:
    assert mean(shown_accuracies("plain", **SIZES)) > 0.63


@for_each("board", [name for name in BOARDS if name != "plain"])
def test_under_a_ladder_it_gains_no_more_than_the_best_of_as_many_random_files(board: str) -> None:
    assert mean(shown_accuracies(board, **SIZES)) < 0.56


@for_each("board", BOARDS)
def test_the_last_file_of_the_attack_knows_nothing(board: str) -> None:
    truths = [attack(BOARDS[board](1_000), instances=1_000, files=500, seed=seed)[1] for seed in range(4)]
    assert mean(truths) == pytest.approx(0.5, abs=0.03)
