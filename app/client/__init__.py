"""The Python client of the REST API, shared by the command line and by users' scripts."""

from app.client.account_calls import AccountCalls
from app.client.announcement_calls import AnnouncementCalls
from app.client.audit_calls import AuditCalls
from app.client.board_calls import BoardCalls
from app.client.challenge_calls import ChallengeCalls
from app.client.disqualification_calls import DisqualificationCalls
from app.client.gold_calls import GoldCalls
from app.client.import_calls import ImportCalls
from app.client.item_calls import ItemCalls
from app.client.log_calls import LogCalls
from app.client.submission_calls import FINAL, SubmissionCalls
from app.client.team_calls import TeamCalls
from app.client.version_calls import VersionCalls
from app.transport import ApiError, ClientError, Json, Progress, UnreachableError


class Client(
    AccountCalls,
    ChallengeCalls,
    AnnouncementCalls,
    GoldCalls,
    VersionCalls,
    ItemCalls,
    TeamCalls,
    SubmissionCalls,
    DisqualificationCalls,
    BoardCalls,
    AuditCalls,
    LogCalls,
    ImportCalls,
):
    """A client of one service with one token, to be used as a context manager; every method is one API call."""


__all__ = ["FINAL", "ApiError", "Client", "ClientError", "Json", "Progress", "UnreachableError"]
