"""Words for the inference bound: how much scores can reveal about the gold, and what reduces it."""

import math
from collections.abc import Iterator

from app.scoring.declaration.metric_syntax import pluralize
from app.scoring.disclosure.inference_bound import InferenceBound

_LOGARITHM_ERROR = 1e-6
OTHER_PHASES = "Other phases with the same instances reveal more."
NOT_AN_ATTACK = "This is an upper bound on the information, averaged over equally likely labellings; it does not describe an attack."


def round_bits_up(bits: float) -> float:
    """Bits rounded up to two decimals; an excess as small as the error of a logarithm does not count."""
    return math.ceil(bits * 100 - _LOGARITHM_ERROR) / 100


def describe_inference_bound(bound: InferenceBound) -> str:
    """The statement of the bound for one team in one phase."""
    if not bound.per_submission and not bound.once:
        return "Participants are shown nothing that depends on the gold labels."
    phases = [OTHER_PHASES] if bound.rules.phases > 1 else []
    return " ".join(
        [
            *_describe_sources(bound),
            _describe_total(bound),
            *_describe_ladder(bound),
            _describe_further_teams(bound),
            *phases,
            NOT_AN_ATTACK,
        ]
    )


def _describe_sources(bound: InferenceBound) -> Iterator[str]:
    if bound.per_submission:
        bits = _format_bits(bound.per_submission)
        yield f"One submission reveals at most {bits} about the gold to a team{_describe_parts(bound)}."
    if bound.once and bound.without_ladder is not None:
        yield f"The outputs of the Ladder reveal at most {_format_bits(bound.once)}, after the close."
    elif bound.once:
        choice = ", because it shows which of the team's files represents it" if bound.choice else ""
        yield f"The board reveals at most {_format_bits(bound.once)} once, after the close{choice}."


def _describe_parts(bound: InferenceBound) -> str:
    """The sources of the bits of a submission; on a public board, values count at full precision."""
    public, parts = bound.rules.board == "public", []
    if bound.without_ladder is not None:
        return f" (the output of the Ladder for {bound.metrics[0].call.text})"
    if bound.shows_values:
        values = ", ".join(
            f"{one.call.text} {_format_number(one.ranked if public else one.shown)}" for one in bound.metrics
        )
        digits = "full precision" if bound.digits is None else pluralize(bound.digits, "digit", "digits")
        ranked = "full precision, because the board ranks by it whatever digits it shows"
        parts.append(f"{values}, at {ranked if public else digits}")
    parts += [f"the report {name} {_format_number(bits)}" for name, bits in bound.reports.items()]
    return f" ({'; '.join(parts)})"


def _describe_total(bound: InferenceBound) -> str:
    """What all submissions of a team can reveal together."""
    number = bound.rules.submissions
    if bound.sizes is None:
        later = "the maximum number of labels is known once there is gold"
        if not bound.can_grow:
            return f"{later.capitalize()}."
        if number is None:
            return f"The number of submissions is unlimited, so a team can learn all labels; {later}."
        submissions = pluralize(number, "submission")
        return f"With {submissions} a team can learn at most {_format_bits(bound.total)}; {later}."
    total = bound.sizes.labels
    noun = "decisions (one per instance and label)" if bound.sizes.multilabel else "labels"
    each = "" if bound.sizes.multilabel else f", each of {_format_bits(bound.sizes.bits_per_label)}"
    if not bound.can_grow:
        return f"A team can learn at most {bound.labels} of {total} {noun}{each}."
    if number is None:
        return f"The number of submissions is unlimited, so a team can learn all {total} {noun}{each}."
    submissions = pluralize(number, "submission")
    return f"With {submissions} a team can learn at most {bound.labels} of {total} {noun}{each}."


def _describe_ladder(bound: InferenceBound) -> Iterator[str]:
    """What the Ladder changes."""
    plain = bound.without_ladder
    if plain is None or bound.sizes is None or bound.is_unbounded:
        return
    noun = "decisions" if bound.sizes.multilabel else "labels"
    yield (
        f"All outputs of the Ladder together hold at most {_format_bits(bound.total)}; without it, scores would reveal "
        f"up to {plain.labels} of {bound.sizes.labels} {noun}."
    )


def _describe_further_teams(bound: InferenceBound) -> str:
    if bound.rules.closed_teams:
        return "Each further team that the organizers admit can learn as much again."
    return "Each further team can learn as much again, and every account may found one."


def suggest_reductions(bound: InferenceBound) -> list[str]:
    """What would reduce the bound, the most effective first."""
    if not bound.per_submission and not bound.once:
        return []
    return list(_reductions(bound))


def inference_warning(bound: InferenceBound) -> str | None:
    """A warning about metrics whose value may differ for every labelling, if the bound then allows all labels."""
    shown = bound.shows_values or bound.rules.board == "after_close"
    unknown = bound.sizes is None and bound.shows_values
    if not (bound.separating and shown and (unknown or bound.is_unbounded)):
        return None
    names = ", ".join(one.call.text for one in bound.separating)
    why = ", because its instances have weights or unknown cells" if bound.weighted else ""
    return (
        f"shows {names}, whose value may differ for every labelling of the gold{why}: {' '.join(_describe_sources(bound))} "
        f"{_describe_total(bound)}"
    )


def _reductions(bound: InferenceBound) -> Iterator[str]:
    rules = bound.rules
    if rules.submissions is None:
        yield "a total quota, or a daily quota and a close after which nothing is taken (late: refuse)"
    if bound.reports:
        yield f"no {' or '.join(bound.reports)} report for participants"
    if bound.separating and not bound.weighted:
        yield f"count-based metrics instead of {', '.join(one.call.text for one in bound.separating)}"
    yield from _coarser_answers(bound)
    if len(bound.metrics) > 1:
        yield "fewer metrics"
    if rules.submissions is not None:
        yield "fewer submissions"
    if not rules.closed_teams:
        yield "registration by approval or invitation"
    yield "a private split, which reveals nothing before the final release"


def _coarser_answers(bound: InferenceBound) -> Iterator[str]:
    """What would make each answer coarser."""
    rules, has_ladder = bound.rules, bound.without_ladder is not None
    if has_ladder:
        yield "a larger step of the Ladder"
    elif rules.board == "public":
        yield "a board that is shown only after the close, or never, because a board ranks at full precision"
    elif bound.digits is None or bound.digits > 1:
        yield "fewer digits"
    if not has_ladder and bound.shows_values:
        yield "a Ladder, which tells a team only of improvements by more than a step"


def _format_bits(bits: float) -> str:
    """A number with its unit."""
    number = _format_number(bits)
    return f"{number} bit" if number == "1" else f"{number} bits"


def _format_number(bits: float) -> str:
    return "all" if math.isinf(bits) else f"{math.ceil(bits * 10 - _LOGARITHM_ERROR) / 10:g}"
