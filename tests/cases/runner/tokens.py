"""Texts of the API that scenarios compute or judge for themselves: list cursors and tenant tokens.

SPDX-License-Identifier: Apache-2.0
"""
import base64
import hashlib
import hmac
import json
import string
import time

_BASE62 = string.digits + string.ascii_lowercase + string.ascii_uppercase
_HASHES = {"HS256": hashlib.sha256, "HS384": hashlib.sha384, "HS512": hashlib.sha512}
TOKEN_LIFE = 86400


def cursor(text):
    """Plain cursor text as the base 62 number of its bytes."""
    value, digits = int.from_bytes(text.encode(), "big"), []
    while value:
        value, rest = divmod(value, 62)
        digits.append(_BASE62[rest])
    return "".join(reversed(digits))


def cursor_text(digits):
    value = 0
    for digit in digits:
        value = value * 62 + _BASE62.index(digit)
    return value.to_bytes((value.bit_length() + 7) // 8, "big").decode("utf-8", "replace")


def _pack(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _unpack(part):
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)).decode()


def token(header, payload, secret):
    """A signed token from the JSON texts of its header and payload. Unknown algorithms are signed as HS256."""
    body = _pack(header.encode()) + "." + _pack(payload.encode())
    make = _HASHES.get(json.loads(header).get("alg"), hashlib.sha256)
    return body + "." + _pack(hmac.new(secret.encode(), body.encode(), make).digest())


def token_fault(text, secret):
    """What is wrong with a token that the server issued just now, or None."""
    header, payload = (_unpack(part) for part in text.split(".")[:2])
    claims = json.loads(payload)
    if header != '{"alg":"HS256","typ":"JWT"}':
        return "token header is " + header
    if list(claims) != sorted(claims):
        return "token claims are not sorted: " + payload
    if claims.get("iss") != "outpost":
        return "token issuer is %r" % claims.get("iss")
    if claims["exp"] != claims["iat"] + TOKEN_LIFE:
        return "token lives %d s" % (claims["exp"] - claims["iat"])
    if abs(time.time() - claims["iat"]) > 60:
        return "token was not issued now"
    return None if token(header, payload, secret) == text else "token signature is wrong"
