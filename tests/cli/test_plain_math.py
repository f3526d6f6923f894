"""Equations as plain text read as they are written."""

import pytest

from app.cli.terminal.plain_math import mathml_to_text
from app.scoring.catalogue.description import render_equation
from app.scoring.declaration.metric import CATALOGUE
from app.scoring.metrics.call_equation import general_equation


def read(latex: str) -> str:
    return mathml_to_text(render_equation(latex)["mathml"])


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"\frac{1}{m}\sum_{j=1}^{m} \frac{2\,\mathrm{TP}_{j}}{2\,\mathrm{TP}_{j}+\mathrm{FN}_{j}}", "1/m ∑_{j=1}^m 2 TP_j/(2 TP_j + FN_j)"),
        (r"\frac{a+b}{n_{+}n_{-}},\quad \tfrac{0}{0}:=0", "(a + b)/(n_+ n_−), 0/0 := 0"),
        (r"\sum_{b=1}^{15} x^{15}", "∑_{b=1}^{15} x¹⁵"),
        (r"n_{j}\,\frac{x}{|L|}", "n_j · x/|L|"),
        (r"\frac{x}{|A||B|}", "x/(|A||B|)"),
        (r"\frac{|A\cap B|}{|A|}", "|A ∩ B|/|A|"),
        (r"-\frac{1}{n}\ln\max(p_{i,y_{i}},2^{-52})", "−1/n ln max(p_{i,y_i}, 2^{−52})"),
        (r"\sqrt{\frac{\chi^{2}}{n(c-1)}}", "√(χ²/(n(c − 1)))"),
        (r"1-x^{10}\ge e^{-A\ln(N+B)}", "1 − x¹⁰ ≥ e^{−A ln(N+B)}"),
        (r"\bar{P}_{i}\cap\hat{A}\setminus B=\{j: n_{j}>0\}", "P̄_i ∩ Â ∖ B = {j : n_j > 0}"),
        (r"(p_{i}-[y_{i}=k])^{2}", "(p_i − [y_i = k])²"),
        (r"(y',y'')", "(y′, y″)"),
        (r"\frac{\frac{a}{b}}{c}", "(a/b)/c"),
        (r"\frac{m\,(m-1)}{2}\,A(i|j)+A(j|i)", "m(m − 1)/2 A(i|j) + A(j|i)"),
        (r"|A||B|\,n_{jk}", "|A||B| n_{jk}"),
        (r"\beta\,|A\setminus B|^{2}", "β|A ∖ B|²"),
        (r"\int_{0}^{f} x\,dx", "∫_0^f x d x"),
        (r"\binom{n}{k}\theta^{k}", "(n over k) θ^k"),
        (r"\text{best value}", "best value"),
    ],
)  # fmt: skip
def test_a_line_of_text_says_what_the_equation_says(latex: str, text: str) -> None:
    assert read(latex) == text


def test_every_equation_becomes_a_line_with_closed_brackets() -> None:
    wrong = {}
    for key, metric in CATALOGUE.items():
        line = read(general_equation(metric))
        unbalanced = any(line.count(opening) != line.count(closing) for opening, closing in ("()", "{}"))
        if unbalanced or "\n" in line or "  " in line or set("&\\") & set(line):
            wrong[key] = line
    assert wrong == {}
