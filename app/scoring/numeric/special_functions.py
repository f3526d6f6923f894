"""Special functions for p-values and exact intervals, in decimal arithmetic: the same digits on every machine.

All functions compute with 50 digits, of which well over 30 are correct; callers round. Sources: Abramowitz & Stegun
6.1.40 (logarithm of the gamma function), 6.5.29, 6.5.31 (incomplete gamma), 26.5.8 (incomplete beta).
"""

from collections.abc import Iterator
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from itertools import count

DECIMAL_CONTEXT = Context(prec=50, Emin=MIN_EMIN, Emax=MAX_EMAX)
_CONVERGENCE_TOLERANCE = Decimal(10) ** -46
_NEWTON_TOLERANCE = Decimal(10) ** -22  # the last step of Newton's method doubles the number of correct digits
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582")
_ASYMPTOTIC_MINIMUM = 40  # from here on, the asymptotic series of ln Γ is correct to 43 digits
_BERNOULLI = (
    (1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510), (43867, 798), (-174611, 330),
    (854513, 138), (-236364091, 2730), (8553103, 6), (-23749461029, 870), (8615841276005, 14322),
)  # fmt: skip
"""Numerators and denominators of the Bernoulli numbers B_2, B_4, …"""


def log_gamma(z: Decimal) -> Decimal:
    """The natural logarithm of Γ(z) for z > 0."""
    with localcontext(DECIMAL_CONTEXT):
        below = Decimal(1)
        while z < _ASYMPTOTIC_MINIMUM:
            below *= z
            z += 1
        series = sum(
            (Decimal(p) / (q * 2 * k * (2 * k - 1)) / z ** (2 * k - 1) for k, (p, q) in enumerate(_BERNOULLI, 1)),
            Decimal(0),
        )
        return (z - Decimal("0.5")) * z.ln() - z + (2 * _PI).ln() / 2 + series - below.ln()


def incomplete_beta(a: Decimal, b: Decimal, x: Decimal) -> Decimal:
    """The regularized incomplete beta function I_x(a, b), the distribution of Beta(a, b), for a, b > 0 and 0 ≤ x ≤ 1."""
    with localcontext(DECIMAL_CONTEXT):
        if x in (0, 1):
            return x
        if x * (a + b + 2) > a + 1:
            return 1 - incomplete_beta(b, a, 1 - x)
        return _beta_power(a, b, x) / a / _continued_fraction(_beta_terms(a, b, x))


def _beta_power(a: Decimal, b: Decimal, x: Decimal) -> Decimal:
    """x^a (1 - x)^b / B(a, b)."""
    log_factor = log_gamma(a + b) - log_gamma(a) - log_gamma(b)
    return (log_factor + a * x.ln() + b * (1 - x).ln()).exp()


def _beta_terms(a: Decimal, b: Decimal, x: Decimal) -> Iterator[tuple[Decimal, Decimal]]:
    """Numerators and denominators of the continued fraction 1 + d1/(1 + d2/(1 + …))."""
    for m in count():
        yield -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)), Decimal(1)
        k = m + 1
        yield k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k)), Decimal(1)


def _continued_fraction(terms: Iterator[tuple[Decimal, Decimal]], first: Decimal = Decimal(1)) -> Decimal:
    """The fraction first + p1/(q1 + p2/(q2 + …)) by Lentz's recurrence; no partial denominator may be 0."""
    value = ratio = first
    inverse = Decimal(0)
    for p, q in terms:
        inverse = 1 / (q + p * inverse)
        ratio = q + p / ratio
        value *= ratio * inverse
        if abs(ratio * inverse - 1) < _CONVERGENCE_TOLERANCE:
            break
    return value


def upper_incomplete_gamma(a: Decimal, x: Decimal) -> Decimal:
    """The regularized upper incomplete gamma function Q(a, x), a > 0, x ≥ 0: P(χ² > 2x) with 2a degrees of freedom."""
    with localcontext(DECIMAL_CONTEXT):
        if x == 0:
            return Decimal(1)
        power = (a * x.ln() - x - log_gamma(a)).exp()
        if x >= a + 1:
            return power / _continued_fraction(_gamma_terms(a, x), x + 1 - a)
        term = total = 1 / a
        k = a
        while term > total * _CONVERGENCE_TOLERANCE:
            k += 1
            term *= x / k
            total += term
        return 1 - power * total


def _gamma_terms(a: Decimal, x: Decimal) -> Iterator[tuple[Decimal, Decimal]]:
    for k in count(1):
        yield k * (a - k), x + 2 * k + 1 - a


def beta_quantile(share: Decimal, a: Decimal, b: Decimal) -> Decimal:
    """The x with I_x(a, b) = share, for 0 < share < 1, by Newton's method on logarithms.

    The first x is the quantile of the normal distribution with the same mean and variance. The solution stays bracketed
    by `low` and `high`. A step that leaves the bracket is replaced by a bisection, so the iteration always converges.
    """
    with localcontext(DECIMAL_CONTEXT):
        low, high, mean = Decimal(0), Decimal(1), a / (a + b)
        x = mean + _normal_quantile(share) * (mean * (1 - mean) / (a + b + 1)).sqrt()
        x = x if low < x < high else mean
        while True:
            value = incomplete_beta(a, b, x)
            low, high = (x, high) if value < share else (low, x)
            step = (share / value).ln() * value / _beta_power(a, b, x) * (1 - x)
            candidate = x * step.exp() if abs(step) < 1 else x * (2 if step > 0 else Decimal("0.5"))
            if abs(step) < _NEWTON_TOLERANCE:  # before the bracket, which a rounded solution may lie on
                return candidate
            candidate = candidate if low < candidate < high else (low + high) / 2
            if abs(candidate - x) < _NEWTON_TOLERANCE * x:
                return candidate
            x = candidate


def _normal_quantile(share: Decimal) -> Decimal:
    """The quantile of the standard normal distribution, with an error below 0.003 (Abramowitz & Stegun 26.2.22)."""
    t = (-2 * min(share, 1 - share).ln()).sqrt()
    above = t - (Decimal("2.30753") + Decimal("0.27061") * t) / (1 + t * (Decimal("0.99229") + Decimal("0.04481") * t))
    return above if share > Decimal("0.5") else -above
