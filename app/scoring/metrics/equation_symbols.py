"""The symbols of an equation: extracted from its LaTeX, and explained."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import NamedTuple

_ACCENTS = {"hat": "\u0302", "widehat": "\u0302", "bar": "\u0304", "overline": "\u0304", "tilde": "\u0303"}
_GREEK_LETTERS = (
    "alpha=α beta=β gamma=γ delta=δ Delta=Δ epsilon=ε eta=η theta=θ kappa=κ lambda=λ mu=μ nu=ν pi=π rho=ρ sigma=σ tau=τ "
    "phi=φ chi=χ psi=ψ omega=ω Omega=Ω"
)
GREEK = dict(letter.split("=") for letter in _GREEK_LETTERS.split())
_WORD = re.compile(r"\\(?:mathrm|operatorname|mathit|mathsf)\{([^{}]*)\}")
_ACCENTED_LETTER = re.compile(rf"\\({'|'.join(_ACCENTS)})\{{\{{?(\w|\\\w+)\}}?\}}")
_COMMAND = re.compile(r"\\text\{[^{}]*\}|\\(?:begin|end)\{\w+\}|\\[A-Za-z]+|\\.")
_SYMBOL_END = re.compile(r"[∈=(\[^]")
_SUPERSCRIPT = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹]")
_SYMBOL_START = re.compile(r"⟨([^⟩]*)⟩|([^\W\d_][\u0300-\u036f]?)")


class EquationSymbol(NamedTuple):
    """A symbol of an equation: `sign` with its index, such as n_j, and `base` without it."""

    sign: str
    base: str


class _UsualMeaning(NamedTuple):
    """The meaning of a sign in every equation; `pattern` matches the sign, and the LaTeX must contain `where`."""

    pattern: re.Pattern[str]
    shown: str
    meaning: str
    where: str = ""


_USUAL_MEANINGS = tuple(
    _UsualMeaning(re.compile(pattern), *rest)
    for pattern, *rest in (
        ("TP.*", "TP", "true positives"),
        ("FP.*", "FP", "false positives"),
        ("FN.*", "FN", "false negatives"),
        ("TN.*", "TN", "true negatives"),
        ("j", "j", "runs over the classes, each against the rest"),
        ("k", "k", "runs over the classes"),
        ("i", "i", "runs over the instances"),
        ("L", "L", "the labels that enter the average", r"\in L"),
        ("L", "L", "the class to evaluate", "_{L}"),
        ("I", "I", "the instances that enter the average", r"\in I"),
        ("G", "G", "the classes that occur in gold", "G="),
        ("m", "m", "number of declared labels"),
        ("n", "n", "number of instances"),
        ("n_([a-z])", "n_{}", "instances of class {} in gold"),
        ("p_([jk])", "p_{}", "predictions of class {}"),
        ("c_([jk])", "c_{}", "training instances of class {}"),
        ("f_j", "f_j", "weight of class j"),
        ("p_o", "p_o", "observed agreement"),
        ("p_e", "p_e", "agreement expected by chance"),
        ("κ", "κ", "agreement beyond chance"),
        ("w_k", "w_k", "weight of class k"),
        ("Ω", "Ω", "the (instance, label) cells whose gold is known"),
        ("L_([PR])", "L_{}", "the labels that enter the average of {}"),
        ("P_i|R_i", "P_i, R_i", "precision and recall of instance i", r"\bar{P}"),
        ("P_j|R_j", "P_j, R_j", "precision and recall of class j", r"\bar{P}"),
        ("P\u0304|R\u0304", "P\u0304, R\u0304", "averaged precision and recall"),
        ("P_i", "P_i", "predicted label set of instance i"),
        ("Y_i", "Y_i", "gold label set of instance i"),
        ("p_i", "p_i", "probability of the positive label for instance i"),
        ("p_i,(.*)", "p_{{i,k}}", "probability of class k for instance i"),
        ("y_i", "y_i", "gold class of instance i"),
        ("P", "P", "probability", "P("),
        ("χ_d", "χ²_d", "a χ²-distributed variable with d degrees of freedom"),
        ("β", "β", "weight of recall relative to precision"),
    )
)
_POSITIVE_LABEL_SIGN = ("=+", "+", "the positive label")


def find_symbols(latex: str) -> Iterator[EquationSymbol]:
    """Every symbol of an equation in reading order, with repetitions; functions such as ln are not symbols."""
    text = _WORD.sub(r"⟨\1⟩", latex)
    text = _ACCENTED_LETTER.sub(lambda match: " " + _unicode(match.group(2)) + _ACCENTS[match.group(1)], text)
    text = _COMMAND.sub(lambda match: GREEK.get(match.group()[1:], " "), text)
    return _scan_symbols(text)


def _unicode(letter: str) -> str:
    return GREEK.get(letter.removeprefix("\\"), letter)


def _scan_symbols(text: str) -> Iterator[EquationSymbol]:
    """The symbols of a text from which commands were removed and in which words are in angle brackets."""
    at = 0
    while (match := _SYMBOL_START.search(text, at)) is not None:
        base, at = match.group(1) or match.group(2), match.end()
        index, scripts = "", []
        while text[at : at + 1] in {"_", "^", "'"} and text[at:]:
            mark = text[at]
            group, at = _read_group(text, at + 1) if mark != "'" else ("", at + 1)
            scripts.append(group)
            index = group if mark == "_" else index
        index_text = _strip_braces(index)
        yield EquationSymbol(f"{base}_{index_text}" if index_text else base, base)
        for group in scripts:
            yield from _scan_symbols(group)


def _read_group(text: str, at: int) -> tuple[str, int]:
    """The group at a position (one character, or the content of its braces) and the position after it."""
    if text[at : at + 1] != "{":
        return text[at : at + 1], at + 1
    depth = 0
    for position in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if depth == 0:
            return text[at + 1 : position], position + 1
    return text[at + 1 :], len(text)


def _strip_braces(text: str) -> str:
    return re.sub(r"[{}⟨⟩\s]", "", text)


def signs_of_key(key: str) -> list[str]:
    """The signs that a key of an explanation covers: "s_u, s_v" covers two, "u∈+" covers u, "rank_i(y)" covers rank_i."""
    parts = re.split(r",\s+", unicodedata.normalize("NFD", key))
    return [_strip_braces(_SUPERSCRIPT.sub("", _SYMBOL_END.split(part)[0])) for part in parts]


def symbols(latex: str, own: Mapping[str, str] | None = None) -> dict[str, str]:
    """The meaning of each symbol of an equation, in order of appearance.

    `own` holds the metric's own explanations, which take precedence over the usual meanings. An explanation of n_j takes
    precedence over one of n; the explanation of a word such as top_k also covers top_5. Own explanations of symbols that
    do not occur in the equation are omitted.
    """
    own = own or {}
    keys = {sign: key for key in own for sign in signs_of_key(key)}
    words = {sign.partition("_")[0]: key for sign, key in keys.items()}
    meanings: dict[str, str] = {}
    for letter in find_symbols(latex):
        usual = _usual_meaning(letter.sign, latex)
        key = keys.get(letter.base) or (words.get(letter.base) if len(letter.base) > 1 else None)
        if letter.sign in keys:
            meanings[keys[letter.sign]] = own[keys[letter.sign]]
        elif usual is not None:
            meanings.setdefault(*usual)
        elif key is not None:
            meanings[key] = own[key]
    mark, sign, meaning = _POSITIVE_LABEL_SIGN
    return meanings | ({sign: meaning} if mark in latex else {})


def _usual_meaning(sign: str, latex: str) -> tuple[str, str] | None:
    """The usual meaning of a sign, with the sign as it is displayed; None where it has none."""
    for usual in _USUAL_MEANINGS:
        match = usual.pattern.fullmatch(sign)
        if match and usual.where in latex:
            return usual.shown.format(*match.groups()), usual.meaning.format(*match.groups())
    return None
