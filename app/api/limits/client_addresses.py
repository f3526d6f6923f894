"""Where a request comes from: its address, and the block of addresses that one caller can be taken to have."""

import ipaddress
from functools import lru_cache

from fastapi import Request
from starlette.types import Scope

IPV6_PREFIX_BITS = 64  # bits: what one household or machine is given, and can choose addresses from


def client_address(request: Request) -> str:
    """The address of the caller, as the server or a trusted proxy tells it."""
    return _client_host(request.scope)


def client_address_block(request: Request) -> str:
    """The address block of the caller: an IPv4 address, the /64 of an IPv6 one."""
    return address_block_of(_client_host(request.scope))


def scope_address_block(scope: Scope) -> str:
    """The same of a request that is not one yet."""
    return address_block_of(_client_host(scope))


@lru_cache(4096)
def address_block_of(host: str) -> str:
    """The address block of an address; what is no address stands for itself."""
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return host[:64]
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(found), IPV6_PREFIX_BITS), strict=False))


def _client_host(scope: Scope) -> str:
    client = scope.get("client")
    return client[0] if client else "unknown"
