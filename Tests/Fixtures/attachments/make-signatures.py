#!/usr/bin/env python3
"""Writes signatures.jsonl: 1,000 requests that botocore has signed in the query (S3SigV4QueryAuth), by seeded chance.

usage: make peers && .build/peers/bin/python Tests/Fixtures/attachments/make-signatures.py
"""

import datetime
import json
import random
import string
import sys
from pathlib import Path

import botocore
import botocore.auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.utils import percent_encode

COUNT = 1_000
LETTERS = string.ascii_letters + string.digits
KEYS = LETTERS + "-_.~!$&'()*+,;=:@ %/\"<>#?[]{}|\\^`" + "äßçñ€漢字🙂"
REGIONS = ["us-east-1", "eu-central-1", "ap-southeast-2", "auto", "garage", "us-gov-west-1"]
HOSTS = ["s3.amazonaws.com", "s3.eu-central-1.amazonaws.com", "127.0.0.1", "localhost", "Store.Example.COM", "[::1]"]
TYPES = ["image/jpeg", "text/plain; charset=utf-8", "application/octet-stream", "image/svg+xml", "a/b;  c=d"]
DISPOSITIONS = ['attachment; filename="a b.jpg"', "inline", "attachment; filename*=UTF-8''%C3%A4%20b.txt"]


def text(chance, letters, least, most):
    return "".join(chance.choice(letters) for _ in range(chance.randint(least, most)))


def key(chance):
    """Segments between slashes, none of them a dot or two, which a client of HTTP would take out of the path."""
    segments = [text(chance, KEYS, 1, 30).replace("/", "") for _ in range(chance.randint(1, 4))]
    return "/".join("x" if segment in ("", ".", "..") else segment for segment in segments)


def query(chance):
    pairs = []
    if chance.random() < 0.3:
        pairs += [["partNumber", str(chance.randint(1, 10_000))], ["uploadId", text(chance, LETTERS + "._-+/=", 8, 60)]]
    if chance.random() < 0.3:
        pairs.append(["response-content-type", chance.choice(TYPES)])
    if chance.random() < 0.3:
        pairs.append(["response-content-disposition", chance.choice(DISPOSITIONS)])
    if chance.random() < 0.1:
        pairs.append(["uploads", ""])
    if chance.random() < 0.1:
        pairs += [["max-parts", "1000"], ["part-number-marker", str(chance.randint(0, 9_999))]]
    chance.shuffle(pairs)
    return pairs


def fields(chance):
    pairs = []
    if chance.random() < 0.5:
        pairs.append(["content-type", chance.choice(TYPES)])
    if chance.random() < 0.5:
        pairs.append(["content-length", str(chance.randint(0, 2**40))])
    if chance.random() < 0.5:
        pairs.append(["x-amz-checksum-sha256", text(chance, LETTERS + "+/", 43, 43) + "="])
    if chance.random() < 0.5:
        pairs.append(["if-none-match", "*"])
    if chance.random() < 0.1:
        pairs.append(["X-Amz-Checksum-Algorithm", "SHA256"])
    chance.shuffle(pairs)
    return pairs


def signed(chance):
    scheme = chance.choice(["http", "https"])
    host = chance.choice(HOSTS)
    port = chance.choice([None, None, 80, 443, 8080, 65535, 9000])
    style = "path" if host[0] in "[1" else chance.choice(["path", "virtual"])
    bucket = chance.choice(string.ascii_lowercase) + text(chance, string.ascii_lowercase + string.digits + "-", 1, 20) + "0"
    request = {
        "method": chance.choice(["GET", "PUT", "POST", "DELETE", "HEAD"]), "scheme": scheme, "host": host, "port": port,
        "style": style, "bucket": bucket, "key": key(chance), "query": query(chance), "fields": fields(chance),
        "region": chance.choice(REGIONS), "time": chance.randint(0, 4_102_444_800), "lifetime": chance.randint(1, 604_800),
        "accessKey": text(chance, LETTERS + ":_-", 3, 30), "secretKey": text(chance, LETTERS + "+/ä", 8, 60),
        "sessionToken": text(chance, LETTERS + "+/=", 20, 300) if chance.random() < 0.3 else None,
    }
    name = percent_encode(request["key"], safe="/~")
    authority = (f"{bucket}.{host}" if style == "virtual" else host) + (f":{port}" if port else "")
    path = f"/{name}" if style == "virtual" else f"/{bucket}/{name}"
    prepared = AWSRequest(
        method=request["method"], url=f"{scheme}://{authority}{path}", params=dict(request["query"]),
        headers=dict(request["fields"]))
    moment = datetime.datetime.fromtimestamp(request["time"], datetime.timezone.utc)
    botocore.auth.get_current_datetime = lambda: moment
    credentials = Credentials(request["accessKey"], request["secretKey"], request["sessionToken"])
    botocore.auth.S3SigV4QueryAuth(credentials, "s3", request["region"], request["lifetime"]).add_auth(prepared)
    request["url"] = prepared.url
    return request


def main():
    chance = random.Random(15)
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("signatures.jsonl")
    with place.open("w", encoding="utf-8") as file:
        file.write(json.dumps({"botocore": botocore.__version__, "count": COUNT}) + "\n")
        for _ in range(COUNT):
            file.write(json.dumps(signed(chance), ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
