"""Create an account."""

from app.actions.access import Caller, require_administrator, require_scope
from app.actions.accounts.passwords import password_weakness
from app.actions.audit.record import created_fields, record
from app.actions.invitations.codes import require_usable, use_invitation
from app.errors import EmailTaken, InvalidRequest, InvitationNeeded, SignupClosed
from app.store.queries import users
from app.store.session import ReadSession, WriteSession
from app.store.tables import User
from app.text.email_addresses import normalize_email


def check_sign_up(
    session: ReadSession,
    caller: Caller,
    *,
    email: str,
    signup: str,
    invitation: str | None = None,
    admin: bool = False,
    approved: bool = False,
) -> None:
    """Check that such an account may be created, before its password is hashed, which is expensive.

    Raises SignupClosed, InvitationNeeded, InvalidInvitation, Forbidden for rights that only administrators can grant,
    and EmailTaken, last: without a valid code nobody learns which addresses have accounts.
    """
    if not caller.has_admin_rights:
        if signup == "closed" or (signup == "invitation" and invitation is None):
            if caller.admin:
                require_scope(caller, "admin")
            raise SignupClosed if signup == "closed" else InvitationNeeded
        if admin or approved:
            require_administrator(caller, "Only an administrator may create administrators or approved users.")
    if invitation is not None:
        require_usable(session, invitation, "site")
    if users.by_email(session, email) is not None:
        raise EmailTaken


def require_strong_password(password: str, *, email: str, name: str) -> None:
    """Raise InvalidRequest for a new password that is too weak."""
    weak = password_weakness(password, email=email, name=name)
    if weak is not None:
        remedy = "Choose another one, such as several random words."
        raise _invalid_field("/password", f"The password {weak}.", weak, remedy)


def sign_up(
    session: WriteSession,
    caller: Caller,
    *,
    email: str,
    name: str,
    password_hash: str | None,
    signup: str,
    invitation: str | None = None,
    admin: bool = False,
    approved: bool = False,
) -> User:
    """A new user; raises what check_sign_up raises."""
    rights = {"admin": admin, "approved": approved}
    check_sign_up(session, caller, email=email, signup=signup, invitation=invitation, **rights)
    if invitation is not None:
        use_invitation(session, invitation, "site")
    user = create_user(session, email=email, name=name, password_hash=password_hash, **rights)
    if caller.has_admin_rights:
        record(session, caller, "user.create", challenge=None, of=user, changes=created_fields(rights))
    return user


def create_user(
    session: WriteSession, *, email: str, name: str, password_hash: str | None, admin: bool, approved: bool
) -> User:
    """A new user, without a check of rights; administrators are approved users too.

    Raises EmailTaken, InvalidRequest.
    """
    try:
        address = normalize_email(email)
    except ValueError as fault:
        raise _invalid_field("/email", f"The e-mail address {fault}.", str(fault)) from fault
    if users.by_email(session, address) is not None:
        raise EmailTaken
    user = User(email=address, name=name.strip(), password_hash=password_hash, admin=admin, approved=approved or admin)
    session.add(user)
    session.flush()
    return user


def _invalid_field(pointer: str, sentence: str, detail: str, remedy: str | None = None) -> InvalidRequest:
    return InvalidRequest(sentence, remedy=remedy, errors=[{"pointer": pointer, "detail": detail}])
