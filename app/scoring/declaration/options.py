"""The convention options: one declaration of every choice that changes a number and on which tools disagree."""

from collections.abc import Container
from dataclasses import dataclass
from urllib.parse import quote, unquote


@dataclass(frozen=True, slots=True)
class Option:
    """A convention with its allowed values, its default and its meaning; without values it takes a list of labels."""

    name: str
    values: tuple[str, ...]
    default: str
    meaning: str
    value_meanings: tuple[str, ...] = ()


_DECLARED = (
    Option(
        "zero_division",
        ("worst", "0", "1", "skip", "error"),
        "worst",
        "What a ratio 0/0 counts as.",
        (
            "the measure's worst value: 0 where higher is better (-1 for informedness and markedness), 1 where lower is better",
            "0",
            "1",
            "the class leaves the average; a value that is nothing but 0/0 is null",
            "the value is null, with the reason",
        ),
    ),
    Option(
        "label_set",
        ("declared", "gold", "predicted", "gold_or_predicted", "training"),
        "declared",
        "Which labels enter a macro mean and so its divisor.",
        (
            "every declared label",
            "labels that occur in gold",
            "labels that were predicted",
            "labels that occur in gold or were predicted",
            "labels that occur in the training data",
        ),
    ),
    Option(
        "absent_gold",
        ("include", "skip"),
        "include",
        "Whether a label that never occurs in gold stays in the mean over labels.",
        (
            "a label that gold lacks stays, under the zero-division rule",
            "a label that gold lacks is left out and listed",
        ),
    ),
    Option(
        "unknown_label",
        ("reject", "count_as_fp", "drop"),
        "reject",
        "What a predicted label outside the vocabulary does.",
        (
            "the file is refused",
            (
                "a false positive in pooled sums and of its instance, in the place of a true negative as any other wrong label; "
                "as it has no class, measures of single classes and their averages charge it to none, and chance-corrected "
                "agreement has nothing that it could agree with"
            ),
            "such a label is ignored, as if it had not been predicted",
        ),
    ),
    Option(
        "both_empty",
        ("1", "0", "skip"),
        "1",
        "The per-instance precision, recall, F, Jaccard and α-score where gold and prediction are both empty sets.",
        (
            "the best value",
            "the worst value; a prediction of labels outside the vocabulary alone counts as an empty one",
            "the instance leaves the average",
        ),
    ),
    Option(
        "one_empty",
        ("0", "skip"),
        "0",
        "The per-instance precision, recall, F, Jaccard and α-score where exactly one of the two sets is empty.",
        ("the worst value; the α-score keeps that of its equation", "the instance leaves the average"),
    ),
    Option(
        "empty_label",
        ("not_a_label", "as_class"),
        "not_a_label",
        "Whether the empty set is a class of its own in multi-label data.",
        (
            "the empty set is no class",
            "an instance without labels has the one label 'no label', which is averaged like any other",
        ),
    ),
    Option(
        "duplicates",
        ("reject", "set", "multiset"),
        "reject",
        "What a label repeated within one prediction does.",
        (
            "the file is refused",
            "a repeated label counts once",
            (
                "every repetition counts: [A] against [A, A, A] is one true and two false positives; subset accuracy, zero-one "
                "loss, Hamming loss and score, edit distance and split confusion counts still compare sets"
            ),
        ),
    ),
    Option(
        "missing",
        ("reject", "empty_prediction"),
        "reject",
        "What an instance without a prediction does.",
        ("the file is refused", "nothing was predicted for it: it costs recall"),
    ),
    Option(
        "score_direction",
        ("higher", "lower"),
        "higher",
        "Whether a higher or a lower score speaks for a label.",
        (
            "the higher the score, the surer",
            "the lower, the surer: scores are negated where they are ranked, a threshold is reached from above, and measures of probabilities are refused",
        ),
    ),
    Option(
        "exclude_labels",
        (),
        "",
        "Labels left out of the mean over labels or the pooled sums, joined by |; their instances stay. Where no "
        "class is called 'none', none means none.",
    ),
)

OPTIONS: dict[str, Option] = {option.name: option for option in _DECLARED}
DEFAULTS: dict[str, str] = {option.name: option.default for option in _DECLARED}

_RESERVED = str.maketrans({sign: quote(sign, safe="") for sign in ",=:|%"})


def encode_value(value: str) -> str:
    """A value as written in a metric string: the characters , = : | % become %XX."""
    return value.translate(_RESERVED)


def decode_value(value: str) -> str:
    """The value with %XX decoded; raises UnicodeDecodeError if the result is not UTF-8."""
    return unquote(value, errors="strict")


def join_labels(labels: list[str] | tuple[str, ...] | set[str]) -> str:
    """Labels as the canonical value of a list option: distinct, sorted, encoded, joined by |."""
    return "|".join(encode_value(label) for label in sorted(set(labels)))


def split_labels(value: str) -> tuple[str, ...]:
    """The labels in the value of a list option; none in an empty value."""
    return tuple(decode_value(part) for part in value.split("|")) if value else ()


def excluded_labels(value: str, classes: Container[str]) -> tuple[str, ...]:
    """The labels in a value of exclude_labels; 'none' means no label, unless a class has that name."""
    return () if value == "none" and value not in classes else split_labels(value)
