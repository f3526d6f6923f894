"""The bodies of requests that say why something is done."""

from pydantic import Field

from app.api.field_types import Body, request_example
from app.api.field_types import Reason as ReasonText


class Reason(Body):
    """Why; those concerned can read it, and the audit trail keeps it."""

    model_config = request_example(reason="The same file was sent under two names.")

    reason: ReasonText


class OptionalReason(Body):
    """Why, if there is something to say; the audit trail keeps it."""

    model_config = request_example(reason="All files are scored, and the workshop has begun.")

    reason: ReasonText | None = None


NO_REASON = OptionalReason(reason=None)
"""What a request without a body means."""


class Activation(OptionalReason):
    """Why other versions come into force; required once something was submitted."""

    model_config = request_example(reason="Two labels were wrong, as the authors confirmed.", lists_instances=False)

    lists_instances: bool = Field(
        False, description="Whether the public errata name the ids of the instances that changed."
    )


NO_ACTIVATION = Activation(reason=None)
"""What an activation without a body means."""
