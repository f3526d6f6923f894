"""The boosting attack of Blum and Hardt (2015) on a board: random files, kept by their answers, then a majority vote."""

import sys
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from app.scoring.declaration.ladder_rule import LadderRule
from app.scoring.uncertainty.ladder import fold_ladder

Answers = Callable[[list[float]], list[float]]
"""What a board answers to the accuracies of files, in their order."""


def plain_board(accuracies: list[float]) -> list[float]:
    """Every file is told its own score."""
    return accuracies


def ladder_board(rule: LadderRule, instances: int) -> Answers:
    """Every file is told the best so far."""

    def answer(accuracies: list[float]) -> list[float]:
        return [output.value or 0.0 for output in fold_ladder(accuracies, rule, "higher", instances)]

    return answer


def attack(answers: Answers, *, instances: int, files: int, seed: int) -> tuple[float, float]:
    """The accuracy that the board shows for the attacker at the end, and the true one, which is 1/2.

    The labels are random, and so is every file. The attacker keeps the files whose answer is above 1/2 and, on a board
    that tells the best so far, improved; the last file is the majority of those kept. The true accuracy is that on as
    many fresh instances.
    """
    random = np.random.default_rng(seed)
    public, fresh = random.integers(0, 2, (2, instances))
    guesses = random.integers(0, 2, (files, 2 * instances))
    accuracies = [float(np.mean(guess[:instances] == public)) for guess in guesses]
    told = answers(accuracies)
    kept = guesses[_kept(told)]
    vote = _majority(kept, random) if len(kept) else guesses[0]
    final = float(np.mean(vote[:instances] == public))
    return answers([*accuracies, final])[-1], float(np.mean(vote[instances:] == fresh))


def _kept(told: list[float]) -> NDArray[np.bool_]:
    if told == sorted(told):  # the best so far: an answer says something of a file only if it changed
        return np.array([value > before for before, value in zip([0.5, *told], told, strict=False)])
    return np.array(told) > 0.5


def _majority(kept: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.int64]:
    votes = 2 * kept.sum(axis=0) - len(kept)
    return np.where(votes == 0, random.integers(0, 2, kept.shape[1]), votes > 0).astype(np.int64)


BOARDS: dict[str, Callable[[int], Answers]] = {
    "plain": lambda _: plain_board,
    "step 0.02": lambda n: ladder_board(LadderRule(Fraction(1, 50)), n),
    "step 0.05": lambda n: ladder_board(LadderRule(Fraction(1, 20)), n),
    "auto": lambda n: ladder_board(LadderRule(None), n),
}


def shown_accuracies(board: str, *, instances: int, files: int, repetitions: int) -> list[float]:
    """What the board shows for the attacker, for so many seeds."""
    answers = BOARDS[board](instances)
    return [attack(answers, instances=instances, files=files, seed=seed)[0] for seed in range(repetitions)]


if __name__ == "__main__":
    for size, count in ((1_000, 100), (1_000, 500), (1_000, 1_000), (4_000, 500), (4_000, 2_000)):
        means = {
            board: np.mean(shown_accuracies(board, instances=size, files=count, repetitions=20)) for board in BOARDS
        }
        line = f"{size} instances, {count} files: " + ", ".join(f"{board} {each:.3f}" for board, each in means.items())
        sys.stdout.write(line + "\n")
