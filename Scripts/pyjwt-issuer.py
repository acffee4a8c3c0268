#!/usr/bin/env python3
"""A provider of tokens as PyJWT makes them, for tests: its keys are at an address of this machine.

usage: .build/peers/bin/python3 Scripts/pyjwt-issuer.py

Prints {"keys": URL}, and answers each line of its input with a line, until that ends. A line has an id, which its answer has, too:
    {"id": 1, "sign": CLAIMS, "algorithm": "ES256"}
        {"id": 1, "ok": true, "token": TOKEN}
    {"id": 2, "verify": TOKEN, "keys": URL, "audience": TEXT, "issuer": TEXT}
        {"id": 2, "ok": true, "claims": CLAIMS}, or {"id": 2, "ok": false, "error": NAME}
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

KEYS = {
    "ES256": ec.generate_private_key(ec.SECP256R1()),
    "RS256": rsa.generate_private_key(public_exponent=65537, key_size=2048),
    "EdDSA": ed25519.Ed25519PrivateKey.generate(),
}


def published():
    """The public keys as a provider publishes them."""
    keys = []
    for algorithm, key in KEYS.items():
        made = jwt.get_algorithm_by_name(algorithm).to_jwk(key.public_key(), as_dict=True)
        keys.append({**made, "kid": "pyjwt-" + algorithm, "alg": algorithm, "use": "sig"})
    return json.dumps({"keys": keys}).encode()


class Keys(BaseHTTPRequestHandler):
    """Answers every GET with the public keys."""

    def do_GET(self):
        body = published()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        """Says nothing: standard error is that of the tests."""


def answer(question):
    if "sign" in question:
        algorithm = question["algorithm"]
        token = jwt.encode(
            question["sign"], KEYS[algorithm], algorithm=algorithm, headers={"kid": "pyjwt-" + algorithm})
        return {"ok": True, "token": token}
    token = question["verify"]
    try:
        key = jwt.PyJWKClient(question["keys"]).get_signing_key_from_jwt(token)
        claims = jwt.decode(
            token, key.key, algorithms=["ES256", "RS256", "EdDSA"], audience=question["audience"],
            issuer=question["issuer"], options={"require": ["exp", "iat", "sub", "aud"]})
    except jwt.PyJWTError as error:
        return {"ok": False, "error": type(error).__name__}
    return {"ok": True, "claims": claims}


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Keys)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps({"keys": f"http://127.0.0.1:{server.server_port}/keys"}), flush=True)
    for line in sys.stdin:
        question = json.loads(line)
        print(json.dumps({"id": question["id"], **answer(question)}), flush=True)


main()
