"""Seeds follow from lengths and texts, streams from seeds, content hashes from content alone."""

import hashlib
from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from app.scoring.evaluation_input import Labels
from app.scoring.uncertainty.seeds import content_hash, derive_seed, random_source

TEXTS = st.text(min_size=1, max_size=4)


def test_a_seed_is_the_sha256_of_its_parts_with_their_lengths() -> None:
    parts = ("0", "pair", "public", "f1_macro", "ü")
    joined = b"".join(len(part.encode()).to_bytes(8, "big") + part.encode() for part in parts)
    assert derive_seed("0", "pair", "public", "f1_macro", "ü") == hashlib.sha256(joined).digest()


def test_moving_a_letter_from_one_part_to_the_next_gives_another_seed() -> None:
    assert derive_seed("0", "pair", "ab", "c") != derive_seed("0", "pair", "a", "bc")
    assert derive_seed("0", "pair", "a") != derive_seed("0", "board", "a")


def test_the_stream_of_a_seed_is_fixed() -> None:
    seed = derive_seed("0", "interval", "all", "accuracy")
    words = np.random.PCG64(int.from_bytes(seed, "big")).random_raw(6).tolist()
    assert random_source(seed).words(6).tolist() == words
    shares = [int((word >> 11) / 2**53 * 1000) for word in words]
    assert random_source(seed).uniform_indices(1000, 6).tolist() == shares
    assert shares == [809, 479, 162, 504, 151, 900]


def test_half_of_the_coins_are_counted_bit_by_bit() -> None:
    seed, counts = derive_seed("1", "pair"), np.array([3, 0, 64, 130])
    drawn = random_source(seed).binomial_half(counts, 2)
    words = [int(word) for word in random_source(seed).words(10)]
    plain = []
    for draw in range(2):
        a, b, c, d, e = words[5 * draw : 5 * draw + 5]
        plain.append([(a & 7).bit_count(), 0, b.bit_count(), c.bit_count() + d.bit_count() + (e & 3).bit_count()])
    assert drawn.tolist() == plain


@given(
    st.lists(st.tuples(TEXTS, st.lists(st.integers(0, 4), max_size=3)), min_size=1, unique_by=lambda row: row[0]),
    st.randoms(use_true_random=False),
)
def test_content_does_not_depend_on_the_order_of_rows_classes_and_labels(
    rows: list[tuple[str, list[int]]], random: Random
) -> None:
    classes = ["b", "a", "ä", "", "cc"]
    scores = {name: [0.1 * at + len(name) for at in range(5)] for name, _ in rows}

    def hashed(rows: list[tuple[str, list[int]]], classes_now: list[str]) -> str:
        codes = [[classes_now.index(classes[at]) for at in labels] for _, labels in rows]
        offsets = np.cumsum([0, *map(len, codes)])
        flat = np.array([code for labels in codes for code in labels], dtype=np.int32)
        table = np.array([[scores[name][classes.index(label)] for label in classes_now] for name, _ in rows])
        return content_hash([name for name, _ in rows], Labels(flat, offsets), classes_now, table)

    other_rows = [(name, random.sample(labels, len(labels))) for name, labels in random.sample(rows, len(rows))]
    other_classes = random.sample(classes, len(classes))
    assert hashed(rows, classes) == hashed(other_rows, other_classes)


def test_content_depends_on_ids_labels_and_scores() -> None:
    one = np.array([[0.5, 0.5], [0.25, 0.75]])
    other = np.array([[0.5, np.nextafter(0.5, 1)], [0.25, 0.75]])
    labels = Labels(np.array([0, 1], dtype=np.int32))
    hashes = {
        content_hash(["x", "y"], labels, ["a", "b"], one),
        content_hash(["x", "z"], labels, ["a", "b"], one),
        content_hash(["x", "y"], labels, ["a", "c"], one),
        content_hash(["x", "y"], labels, ["a", "b"], other),
        content_hash(["x", "y"], labels, ["a", "b"], one[:, :1]),
        content_hash(["x", "y"], labels, ["a", "b"], None),
        content_hash(["x", "y"], None, ["a", "b"], one),
        content_hash(["x", "y"], Labels(np.array([0, -1], dtype=np.int32)), ["a", "b"], None),
        content_hash(["x", "y"], Labels(np.array([0, 2], dtype=np.int32)), ["a", "b"], None),
    }
    assert len(hashes) == 9


def test_negative_zeros_and_all_nans_are_one_content() -> None:
    def hashed(score: float) -> str:
        return content_hash(["x"], None, ["a", "b"], np.array([[score, 1.0]]))

    assert hashed(0.0) == hashed(-0.0)
    assert hashed(float("nan")) == hashed(-float("nan"))
    assert hashed(0.0) != hashed(5e-324)
