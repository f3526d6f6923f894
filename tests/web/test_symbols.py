"""Letters of equations in running text."""

import pytest

from app.web.symbols import symbol


@pytest.mark.parametrize(
    ("name", "html"),
    [
        ("TP", "TP"),
        ("p_j", "p<sub>j</sub>"),
        ("C_{j,k}", "C<sub>j,k</sub>"),
        ("n_+, n_-", "n<sub>+</sub>, n<sub>-</sub>"),
        ("F^{(k)}", "F<sup>(k)</sup>"),
        ("χ²_d", "χ²<sub>d</sub>"),
        ("<b>_x", "&lt;b&gt;<sub>x</sub>"),
    ],
)
def test_indices_are_set_lower(name: str, html: str) -> None:
    assert symbol(name) == html
