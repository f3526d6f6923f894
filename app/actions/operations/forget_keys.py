"""Forget Idempotency-Keys after their lifetime; until then an expired key is ignored wherever keys are read."""

from app.store.queries import admission
from app.store.session import WriteSession


def forget_expired_keys(session: WriteSession) -> int:
    """Delete some expired keys, and return how many: 0 if none are left that this transaction could delete."""
    return admission.forget_expired_keys(session)
