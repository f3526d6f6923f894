"""Every equation of the catalogue renders, in general and under each choice, and every letter of it is explained."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree import ElementTree as ET

from app.scoring.catalogue.description import _latex_to_mathml, describe_metric, explain_call, render_equation
from app.scoring.declaration.metric import CATALOGUE, PROBABILITIES, Metric, MetricCall, Param
from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.declaration.options import OPTIONS
from app.scoring.metrics.call_equation import equation_of, general_equation, symbols_of_call, symbols_of_metric
from app.scoring.metrics.equation_symbols import find_symbols, symbols
from tests.each_case import for_each
from tests.scoring.case_builder import case, value

EVIL = "<b>&a\\b{c}</b>"
FUNCTIONS = {"ln", "log", "exp", "max", "min", "sup", "inf", "argmax", "lim"}
ACCENTS = {"^": "\u0302", "¯": "\u0304", "―": "\u0304", "~": "\u0303", "˜": "\u0303"}


# ---- every choice, one at a time ----------------------------------------------------------------


def sample(param: Param) -> list[str]:
    """Values that a parameter may have: every word, and some numbers."""
    if param.kind == "label":
        return [EVIL]
    if param.kind == "choice":
        return list(param.values)
    low, high = param.bounds or (0, 100)
    step = [1, 7] if param.kind == "whole" else [0.3, 1]
    numbers = [low, *(low + more for more in step), high]
    return [*param.values, *(f"{number:.15g}" for number in numbers if low <= number <= high and abs(number) < 1e15)]


def calls(metric: Metric) -> Iterator[MetricCall]:
    """The metric with each value of each parameter and option, the others as they are by default."""
    needed = {param.name: param for param in metric.params if param.default is None}
    base: dict[str, Any] = {name: metric.example.params.get(name, sample(one)[-1]) for name, one in needed.items()}
    choices: list[dict[str, Any]] = [{"params": base}]
    choices += [{"params": base | {one.name: value}} for one in metric.params for value in sample(one)]
    for name in metric.options:
        values: list[Any] = list(OPTIONS[name].values) or [[EVIL, "x"]]
        refused = {"lower"} if PROBABILITIES in metric.needs else set()
        choices += [{"params": base, "options": {name: value}} for value in values if str(value) not in refused]
    for choice in choices:
        if metric.check is None or metric.check(_whole(metric, choice["params"])) is None:
            yield parse_metric({"key": metric.key} | choice)


def _whole(metric: Metric, params: Mapping[str, Any]) -> dict[str, str]:
    """Parameters with the defaults of those that are not given."""
    return {one.name: str(params.get(one.name, one.default)) for one in metric.params}


# ---- the letters of MathML ----------------------------------------------------------------------


def text(node: ET.Element) -> str:
    """What a node reads, without its structure."""
    if tag(node) == "mover":
        base, mark = node
        return text(base) + ACCENTS.get((mark.text or "").strip(), "")
    return unicodedata.normalize("NFKC", (node.text or "") + "".join(text(part) for part in node))


def tag(node: ET.Element) -> str:
    return node.tag.rpartition("}")[2]


def is_word(node: ET.Element) -> bool:
    return len(node) > 0 and all(tag(part) == "mi" and part.get("mathvariant") == "normal" for part in node)


def identifiers(node: ET.Element) -> Iterator[tuple[str, str]]:
    """Each letter or word with its index; a power of e is no letter, nor are names of functions."""
    kind, parts = tag(node), list(node)
    if kind in {"msub", "msubsup", "munder"} and (found := name(parts[0])):
        yield from () if found in FUNCTIONS else [(found, text(parts[1]))]
        parts = parts[1:]
    elif kind == "msup" and text(parts[0]) == "e":
        parts = parts[1:]
    elif found := name(node):
        yield from () if found in FUNCTIONS else [(found, "")]
        return
    for part in parts:
        yield from identifiers(part)


def name(node: ET.Element) -> str:
    """The letter or word that a node is, or nothing."""
    inner = node[0] if tag(node) == "mrow" and len(node) == 1 and not is_word(node) else node
    read = unicodedata.normalize("NFD", text(inner))
    own = is_word(inner) or tag(inner) in {"mi", "mover"} or (tag(inner) == "mo" and len(read) > 2)
    return read if own and all(sign.isalpha() or unicodedata.combining(sign) for sign in read) else ""


def defined(latex: str) -> set[str]:
    """What an equation defines itself, the signs before the equals signs of its parts; and the d of an integral."""
    parts = re.split(r",\s*\\(?:quad|;)", latex)
    heads = (part.partition("=")[0] for part in parts if "=" in part)
    found = {
        read[0].sign for head in heads if len(read := list(find_symbols(head))) in {1, 2} or (read and "(" in head)
    }
    return found | ({"d"} if r"\int" in latex else set())


def signs(keys: Any) -> set[str]:
    """The signs that explanations name: of rank_i(y) rank_i and y."""
    parts = [part for key in keys for part in re.split(r",\s+", unicodedata.normalize("NFD", key))]
    found = {re.split(r"[∈=(\[^]", part.replace("²", ""))[0] for part in parts}
    found |= {sign for part in parts for inside in re.findall(r"\(([^)]*)\)", part) for sign in inside.split(",")}
    return {re.sub(r"[{}\s]", "", sign) for sign in found}


def unexplained(latex: str, symbols: Mapping[str, str], own: Mapping[str, str]) -> list[str]:
    """The letters of an equation that neither it nor its symbols explain."""
    known = signs(symbols) | defined(latex)
    indexed = {sign.partition("_")[0] for sign in known if "_" in sign}
    inner = {part for sign in known for part in sign.partition("_")[2].split(",")}  # the o of p_o is explained with it
    found = []
    for base, index in identifiers(ET.fromstring(render_equation(latex)["mathml"])):
        sign = f"{base}_{index}" if index else base
        whole = sign in known or (index and base in indexed) or (not index and sign in inner)
        if not whole and not (base in known and (len(base) > 1 or base in signs(own))):
            found.append(sign)
    return found


# ---- what holds for every metric ----------------------------------------------------------------


@for_each("key", CATALOGUE)
def test_the_equation_renders_under_every_choice_and_every_letter_is_explained(key: str) -> None:
    metric = CATALOGUE[key]
    assert re.search(r"[0-9.}]\\param", metric.equation) is None, "a value would run into what stands before it"
    shown = {general_equation(metric): symbols_of_metric(metric)} | {
        equation_of(call): symbols_of_call(call) for call in calls(metric)
    }
    for latex, explained in shown.items():
        assert r"\param" not in latex
        assert EVIL not in latex
        assert "\\" not in render_equation(latex)["mathml"], latex
        assert unexplained(latex, explained, metric.symbols) == [], (latex, explained)


def test_mathml_is_made_once() -> None:
    every = list(CATALOGUE.values())
    first = [describe_metric(metric)["equation"] for metric in every]
    before = _latex_to_mathml.cache_info().misses
    assert [describe_metric(metric)["equation"] for metric in every] == first
    assert _latex_to_mathml.cache_info().misses == before


# ---- letters in LaTeX ---------------------------------------------------------------------------


def test_letters_are_read_with_their_index() -> None:
    found = [
        letter.sign for letter in find_symbols(r"\frac{1}{n}\sum_{i=1}^{n} \ln p_{i,y_{i}}^{2}+\mathrm{TP}_{j}\bar{P}")
    ]
    assert found == ["n", "i", "n", "p_i,y_i", "i", "y_i", "i", "TP_j", "j", "P\u0304"]
    assert [letter.sign for letter in find_symbols(r"\beta\wedge\hat{A}_{i}\cap\text{of all}\{x'\}")] == [
        "β",
        "A\u0302_i",
        "i",
        "x",
    ]


def test_a_letter_that_nothing_explains_is_found() -> None:
    latex = r"\frac{q_{j}}{z}+\mathrm{argmax}_{y}\,\ln\mathrm{top}_{5}(i)+e^{x}"
    assert unexplained(latex, {}, {}) == ["q_j", "j", "z", "y", "top_5", "i", "x"]
    assert unexplained(latex, {"q_j, z": "", "y": "", "top_k(i)": "", "x": ""}, {}) == []
    assert symbols(latex, {"top_k(i)": "the k best labels"})["top_k(i)"] == "the k best labels"


def test_own_words_come_before_the_usual_ones() -> None:
    own = {"n_+, n_-": "positives and negatives", "i": "runs over pairs", "q": "is not there"}
    found = symbols(r"\frac{1}{n_{+}\,n_{-}}\sum_{i} n_{j}", own)
    assert found == {
        "n_+, n_-": "positives and negatives",
        "i": "runs over pairs",
        "n_j": "instances of class j in gold",
        "j": "runs over the classes, each against the rest",
    }


@for_each(
    "metric, part",
    [
        ("f1_macro:zero_division=skip", r"\frac{1}{|L|}\sum_{j\in L}"),
        ("f1_weighted:zero_division=skip", r"\frac{1}{\sum_{j\in L} n_{j}}\sum_{j\in L} n_{j}"),
        ("f1_samples:both_empty=skip", r"\frac{1}{|I|}\sum_{i\in I}"),
        ("specificity_samples:zero_division=skip", r"\frac{1}{|I|}\sum_{i\in I}"),
        ("balanced_accuracy:exclude_labels=x", r"G=\{j\in L:"),
        ("f_beta:beta=1e-5", r"\tfrac{10000000001}{10000000000}"),
    ],
)
def test_what_leaves_an_average_leaves_its_divisor(metric: str, part: str) -> None:
    assert part in explain_call(parse_metric(metric))["equation"]["latex"]


def test_a_pooled_sum_keeps_classes_that_are_0_over_0() -> None:
    assert r"\in L" not in explain_call(parse_metric("f1_micro:zero_division=skip"))["equation"]["latex"]


@for_each(
    "metric, said",
    [
        ("f1_samples", "1"),
        ("f1_samples:both_empty=0", "0"),
        ("f1_samples:zero_division=0", "1"),  # of two empty sets alone is 0/0
        ("f1_samples:both_empty=skip", None),
        ("alpha_score:alpha=1,beta=1,gamma=1", "1"),
        ("alpha_score:alpha=1,beta=1,gamma=1,both_empty=0", "0"),
        ("hierarchical_f1:both_empty=0", "0"),
        ("hierarchical_f1:pooled=true", "0"),
        ("hierarchical_f1:pooled=true,zero_division=1", "1"),
        ("f1_macro:zero_division=1", "1"),
    ],
)
def test_what_stands_for_0_over_0_is_the_rule_that_decides_it(metric: str, said: str | None) -> None:
    latex = explain_call(parse_metric(metric))["equation"]["latex"]
    assert re.findall(r"\\tfrac\{0\}\{0\}:=(.*)$", latex) == ([] if said is None else [said])


@for_each("key", ["f1_cv_mean", "f1_cv_mean_macro", "f1_cv_mean_micro", "cv_table"])
def test_a_fold_that_counts_as_0_is_in_the_equation(key: str) -> None:
    plain, zero = (explain_call(parse_metric(key + rest)) for rest in ("", ":undefined=zero"))
    assert "F^{(k)}:=0" in zero["equation"]["latex"]
    assert "F^{(k)}:=0" not in plain["equation"]["latex"]
    assert any(meaning.startswith("F1 of fold k") for meaning in zero["symbols"].values())


@for_each(
    "metric, parts",
    [
        ("f1_of_averages_macro", [r"\tfrac{0}{0}:=0\text{ in }P_{j},R_{j}", r"0\text{ for }\bar{P}=\bar{R}=0"]),
        ("f1_of_averages_macro:zero_division=1", [r"\tfrac{0}{0}:=1\text{ in }P_{j},R_{j}", r"0\text{ for }\bar{P}"]),
        ("f2_of_averages_macro:zero_division=skip", [r"\frac{1}{|L_{P}|}\sum_{j\in L_{P}} P", r"\sum_{j\in L_{R}} R"]),
        ("f1_of_averages_weighted:zero_division=skip", [r"\frac{1}{\sum_{j\in L_{P}} n_{j}}\sum_{j\in L_{P}} n_{j}"]),
        ("f1_of_averages_lfb_train:zero_division=skip", [r"\frac{1}{\sum_{j\in L_{R}} f_{j}}\sum_{j\in L_{R}} f_{j}"]),
        ("f1_of_averages_lfb_train:exclude_labels=x", [r"\frac{1}{\sum_{j\in L} f_{j}}\sum_{j\in L} f_{j}"]),
        ("f1_of_averages_samples:both_empty=0", [r"P_{i}=R_{i}:=0\text{ for two", r"P_{i}=R_{i}:=0\text{ for one"]),
        ("f1_of_averages_samples:one_empty=skip", [r"\frac{1}{|I|}\sum_{i\in I} P", r":=1\text{ for two empty sets}"]),
    ],
)
def test_an_f_of_averages_says_what_0_over_0_counts_as_in_its_averages_and_in_itself(
    metric: str, parts: list[str]
) -> None:
    call = parse_metric(metric)
    latex = equation_of(call)
    assert all(part in latex for part in parts), latex
    assert not re.search(r"\\tfrac\{0\}\{0\}:=\d$", latex)
    assert not unexplained(latex, symbols_of_call(call), {})


def test_the_letters_of_an_equation_count_the_empty_set_where_it_is_a_class() -> None:
    of = case("multilabel", ["a", "b"], [["a"], []], [["a"], []])
    for metric, numerator in (("recall_macro", 2), ("label_density_gold", 1), ("label_density_predicted", 1)):
        plain, as_class = (parse_metric(f"{metric}:empty_label={how}") for how in ("not_a_label", "as_class"))
        assert value(of, metric, empty_label="as_class") == numerator / 3  # m is 3, and no set is empty
        assert "'no label'" not in str(symbols_of_call(plain))
        changed = {sign for sign, meaning in symbols_of_call(as_class).items() if "'no label'" in meaning}
        assert changed == symbols_of_call(as_class).keys() & {"m", "Y_i", "P_i"}
        assert "m" in changed


def test_an_f_of_averages_is_what_its_equation_says_where_both_averages_are_0() -> None:
    of = case("multiclass", ["a", "b", "c"], ["a", "b"], ["b", "a"])
    assert value(of, "f1_of_averages_macro", zero_division="0") == 0
    assert value(of, "f1_of_averages_macro", zero_division="skip") == 0
    assert value(of, "f1_of_averages_macro", zero_division="1") == 1 / 3


def test_a_definition_has_one_sign() -> None:
    shown = render_equation(r"\tfrac{0}{0}:=1")["mathml"]
    assert "<mo>:=</mo>" in shown
    assert "<mi>:</mi>" not in shown
    for latex in ("a : b", "x = y"):
        assert ":=" not in render_equation(latex)["mathml"]
    defining = {equation_of(call) for metric in CATALOGUE.values() for call in calls(metric)}
    defining = {latex for latex in defining if ":=" in latex}
    assert defining
    for latex in defining:
        assert render_equation(latex)["mathml"].count("<mo>:=</mo>") == latex.count(":="), latex
