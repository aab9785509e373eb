"""What a receiver can do with a request: say something, or one of the things that real ones do at their worst.

Each is a coroutine function of (request, writer) that returns whether the connection is kept.
SPDX-License-Identifier: Apache-2.0
"""
import asyncio
import functools
import socket
import struct
import zlib

_FLOOD_BYTES = 64 << 20      # endless things end here, so that a broken server can't run a test for ever
_HANG_SECONDS = 120


def _head(status, headers, length):
    lines = ["HTTP/1.1 %d X" % status] + ["%s: %s" % pair for pair in headers.items()]
    if length is not None:
        lines.append("Content-Length: %d" % length)
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def say(status=200, body=b"", headers=None, delay=0):
    body = body.encode() if isinstance(body, str) else body

    async def reply(request, writer):
        if delay:
            await asyncio.sleep(delay)
        writer.write(_head(status, headers or {}, None if status == 204 else len(body)) + body)
        await writer.drain()
        return True
    return reply


def redirect(location, status=307):
    return say(status, headers={"Location": location})


def raw(data, then="close"):
    """Bytes as they are, then `close`, `hang` or `keep`."""
    async def reply(request, writer):
        writer.write(data)
        await writer.drain()
        if then == "hang":
            await asyncio.sleep(_HANG_SECONDS)
        return then == "keep"
    return reply


def hang():
    return raw(b"", "hang")


def close():
    return raw(b"", "close")


def reset():
    async def reply(request, writer):
        sock = writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
        return False
    return reply


def _flood(first, piece):
    async def reply(request, writer):
        writer.write(first)
        for _ in range(_FLOOD_BYTES // len(piece)):
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.001)
        return False
    return reply


def endless_header(status=200):
    return _flood(b"HTTP/1.1 %d X\r\n" % status, b"X-More: " + b"y" * 4000 + b"\r\n")


def one_endless_header(status=200):
    """A single header line without an end."""
    return _flood(b"HTTP/1.1 %d X\r\nX-Long: " % status, b"y" * 4096)


def endless_body(status=200):
    chunk = b"%x\r\n" % 65536 + b"z" * 65536 + b"\r\n"
    return _flood(b"HTTP/1.1 %d X\r\nTransfer-Encoding: chunked\r\n\r\n" % status, chunk)


@functools.cache
def _bomb(megabytes):
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    return b"".join(packer.compress(bytes(1 << 20)) for _ in range(megabytes)) + packer.flush()


def gzip_bomb(status=200, megabytes=200):
    """A fifth of a megabyte that unpacks to two hundred."""
    async def reply(request, writer):
        return await say(status, _bomb(megabytes), {"Content-Encoding": "gzip"})(request, writer)
    return reply


def short_body(status=200, says=100, body=b"abc"):
    """Announces more than it sends."""
    return raw(_head(status, {}, says) + body)


def long_body(status=200, says=3, body=b"abcdefgh"):
    """Sends more than it announced."""
    return raw(_head(status, {}, says) + body)


def trickle(status=200, every=0.2):
    """A head that comes byte by byte and never ends."""
    async def reply(request, writer):
        for byte in b"HTTP/1.1 %d X\r\n" % status + b"X-Slow: " + b"s" * 500:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(every)
        return False
    return reply
