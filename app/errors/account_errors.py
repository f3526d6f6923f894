"""Errors of accounts, tokens and sign-up."""

from app.errors.branches import Conflict, Forbidden, Unauthorized


class WrongPassword(Unauthorized):
    """The e-mail address or the password is wrong."""

    code = "wrong_password"
    remedy = "Check both; passwords are case-sensitive."


class InsufficientScope(Forbidden):
    """The token lacks a required scope."""

    code = "insufficient_scope"
    remedy = "Create a token with the scope named in the message."


class SignupClosed(Forbidden):
    """This site does not allow self-service sign-up."""

    code = "signup_closed"
    remedy = "Ask the administrator for an account."


class InvitationNeeded(Forbidden):
    """This site admits people with an invitation only."""

    code = "invitation_needed"
    remedy = "Send the code of an invitation with 'invitation'; the administrator creates them."


class AccountDisabled(Forbidden):
    """This account is disabled."""

    code = "account_disabled"
    remedy = "Ask the administrator of the site."


class ResetNotUsable(Conflict):
    """This password reset is unknown, has expired, or was used."""

    code = "reset_not_usable"
    remedy = "Ask the administrator for a new one; it is valid for one hour."


class NoPublicURL(Conflict):
    """A link needs the public address of the service, which is not configured."""

    code = "no_public_url"
    remedy = "Set ASSAY_PUBLIC_URL to the address at which people reach the service."


class NoPassword(Conflict):
    """This account has no password."""

    code = "no_password"
    remedy = "It acts with its token alone. People use accounts with a password: 'assay user create --admin' makes one."


class LastAdministrator(Conflict):
    """The site needs an administrator who can act."""

    code = "last_administrator"
    remedy = "Create another administrator first; nobody disables or deletes their own administrator's account."


class EmailTaken(Conflict):
    """An account with this e-mail address already exists."""

    code = "email_taken"
    remedy = "Log in with this account: POST /api/v1/tokens."
