"""Presets: the conventions of named tools, so that naming a tool reproduces its published numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

PRESET_OPTION = "preset"
"""The key of a preset among the options of a recipe."""


@dataclass(frozen=True, slots=True)
class Preset:
    """The options of a tool: those for all metrics, overridden by those of matching patterns, the last one winning.

    `positive_first`: the positive label of a binary task is the class declared first unless the recipe sets it.
    """

    name: str
    tool: str
    options: Mapping[str, str]
    by_key: tuple[tuple[str, Mapping[str, str]], ...] = field(default=())
    positive_first: bool = False
    remark: str = ""

    def for_key(self, key: str) -> dict[str, str]:
        """The options for the metric with this key."""
        merged = dict(self.options)
        for pattern, options in self.by_key:
            if key_matches(key, pattern):
                merged |= options
        return merged


def key_matches(key: str, pattern: str) -> bool:
    """Whether a key matches a glob pattern or one of several joined by |."""
    return any(fnmatchcase(key, part) for part in pattern.split("|"))


_F_MACRO = "|".join(f"{key}_macro{answer}" for answer in ("", "_top_k") for key in ("f1", "f0_5", "f2", "f_beta"))
_DECLARED = (
    Preset(
        "sklearn",
        "scikit-learn's functions with their defaults",
        {
            "zero_division": "0",
            "label_set": "gold_or_predicted",
            "both_empty": "0",
            "degenerate_instance": "best_value",
        },
        (("top_k_accuracy", {"ties": "last"}),),
        remark="scikit-learn gives 0 for a weighted mean without any weight and nan for an undefined kappa or AUC; "
        "both are null here",
    ),
    Preset(
        "bioasq",
        "the flat evaluator of the BioASQ challenges",
        {"unknown_label": "drop", "duplicates": "set", "zero_division": "skip", "both_empty": "0"},
        (
            ("precision_macro", {"label_set": "predicted"}),
            ("recall_macro", {"label_set": "gold"}),
            (_F_MACRO, {"label_set": "gold"}),
        ),
        remark="its columns are accuracy (jaccard_samples), EBP, EBR, EBF (precision, recall, f1 with _samples), "
        "MaP, MaR, MaF (with _macro), MiP, MiR, MiF (with _micro)",
    ),
    Preset(
        "hemkit",
        "HEMKit, the hierarchical evaluator of the BioASQ challenges",
        {"count_root": "true", "links": "hemkit", "one_empty": "skip", "redundant": "remove"},
        remark="HEMKit adds one more level of ancestors than the maximum distance on its command line: for 4 use "
        "max_depth=5; for a distance greater than the depth of the hierarchy omit max_depth",
    ),
    Preset(
        "image_tagging",
        "the multi-label evaluation of image tagging (SS-GRL)",
        {"label_set": "declared"},
        remark="OP, OR, OF1 are precision, recall, f1 with _micro; CP, CR those with _macro; CF1 is "
        "f1_of_averages_macro; mAP is average_precision_macro; predicted labels are those with a score of at least 0.5, "
        "or the three best (keys with _top_k:k=3)",
    ),
    Preset(
        "caret",
        "confusionMatrix of R's caret",
        {"zero_division": "error"},
        positive_first=True,
        remark="values that are NA in caret are null here, with the reason",
    ),
)

PRESETS: dict[str, Preset] = {preset.name: preset for preset in _DECLARED}
