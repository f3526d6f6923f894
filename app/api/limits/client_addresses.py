"""Client addresses, and the address blocks by which requests are limited."""

import ipaddress
from functools import lru_cache

from fastapi import Request
from starlette.types import Scope

IPV6_PREFIX_BITS = 64  # One customer usually gets a /64 and can choose any address in it.


def client_address(request: Request) -> str:
    """The address of the client, as the server or a trusted proxy reports it."""
    return _client_host(request.scope)


def client_address_block(request: Request) -> str:
    """The address block of the client: an IPv4 address, or the /64 of an IPv6 address."""
    return address_block_of(_client_host(request.scope))


def scope_address_block(scope: Scope) -> str:
    """The address block of the client of an ASGI scope."""
    return address_block_of(_client_host(scope))


@lru_cache(4096)
def address_block_of(host: str) -> str:
    """The address block of an address. Text that is no address is its own block."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host[:64]
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(address), IPV6_PREFIX_BITS), strict=False))


def _client_host(scope: Scope) -> str:
    client = scope.get("client")
    return client[0] if client else "unknown"
