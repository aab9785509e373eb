"""Webhook signatures, computed as a receiver would: with nothing but HMAC. SPDX-License-Identifier: Apache-2.0"""
import base64
import hashlib
import hmac


def default_mode(secret, body):
    """Hex digest over the body alone, keyed with the secret's bytes as they are."""
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def default_candidates(header):
    assert header.startswith("v0="), header
    return header[len("v0="):].split(",")


def standard_mode(secret, message_id, timestamp, body):
    """Standard Webhooks: key is the decoded part behind whsec_, message is id.timestamp.body."""
    key = base64.b64decode(secret[len("whsec_"):])
    message = ("%s.%s." % (message_id, timestamp)).encode() + body
    return "v1," + base64.b64encode(hmac.new(key, message, hashlib.sha256).digest()).decode()
