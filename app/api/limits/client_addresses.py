"""Where a request comes from: its address, and the block of addresses that one caller can be taken to have."""

import ipaddress
from functools import lru_cache

from fastapi import Request
from starlette.types import Scope

NETWORK_OF_6 = 64  # bits: what one household or machine is given, and can choose addresses from


def address(request: Request) -> str:
    """The address of the caller, as the server or a trusted proxy tells it."""
    return _host(request.scope)


def block(request: Request) -> str:
    """The address block of the caller: an IPv4 address, the /64 of an IPv6 one."""
    return block_of(_host(request.scope))


def scope_block(scope: Scope) -> str:
    """The same of a request that is not one yet."""
    return block_of(_host(scope))


@lru_cache(4096)
def block_of(host: str) -> str:
    """The address block of an address; what is no address stands for itself."""
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return host[:64]
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(found), NETWORK_OF_6), strict=False))


def _host(scope: Scope) -> str:
    client = scope.get("client")
    return client[0] if client else "unknown"
