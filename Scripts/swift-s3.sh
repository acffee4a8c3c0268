#!/usr/bin/env bash
# Runs an object store that answers as S3 does and checks what it is sent: OpenStack Swift with s3api, one device, one
# replica, in a temporary folder and on free ports of this machine alone. Prints where it is, as lines of an environment for
# the backend (ATTACHMENTS_STORE and its keys), once it has a bucket; ends and removes all when its input ends.
#
# usage: Scripts/swift-s3.sh            needs `make peers`
set -euo pipefail
cd "$(dirname "$0")/.."

python=$PWD/.build/peers/bin/python
if ! cmp -s Scripts/peers-requirements.txt .build/peers/peers-requirements.txt; then
    echo "swift-s3: run make peers first" >&2
    exit 1
fi

folder=$(mktemp -d "${TMPDIR:-/tmp}/swift-s3-XXXXXX")
servers=()
stop() {
    local server
    trap '' HUP INT TERM
    for server in ${servers[@]+"${servers[@]}"}; do kill -KILL "$server" 2>/dev/null || true; done
    wait 2>/dev/null || true
    rm -rf "$folder"
}
trap stop EXIT
trap 'exit 1' HUP INT TERM

# What Swift keeps beside a file is in extended attributes.
if ! "$python" -c 'import os, sys; os.setxattr(sys.argv[1], "user.powersync", b"1")' "$folder" 2>/dev/null; then
    echo "swift-s3: the file system of $folder has no extended attributes; set TMPDIR" >&2
    exit 1
fi

# The files of configuration, and the rings that say where each server is.
"$python" - "$folder" <<'END'
import os, random, secrets, socket, sys
from swift.common.ring import RingBuilder

folder = sys.argv[1]
kinds = ["account", "container", "object"]
os.makedirs(f"{folder}/devices/disk")
os.makedirs(f"{folder}/cache")


def free_port():
    """A port below those that the system gives away by itself, so that only somebody who asks for it takes it meanwhile."""
    while True:
        port = random.randrange(20_000, 32_768)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def write(name, text):
    with open(f"{folder}/{name}", "w") as file:
        file.write(text)


def server(port):
    """What all servers have in common; without workers one answers in its only process."""
    return f"""[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
workers = 0
swift_dir = {folder}
devices = {folder}/devices
mount_check = false
disable_fallocate = true
fallocate_reserve = 0
recon_cache_path = {folder}/cache
log_level = WARNING
client_timeout = 300
node_timeout = 120
conn_timeout = 30
"""


ports = set()
while len(ports) < 4:
    ports.add(free_port())
proxy, *others = ports
secret = secrets.token_hex(20)
write("swift.conf", f"[swift-hash]\nswift_hash_path_prefix = {secrets.token_hex(8)}\n")
for kind, port in zip(kinds, others):
    write(f"{kind}-server.conf", f"""{server(port)}
[pipeline:main]
pipeline = {kind}-server

[app:{kind}-server]
use = egg:swift#{kind}
""")
    builder = RingBuilder(4, 1, 0)
    builder.add_dev({
        "region": 1, "zone": 1, "ip": "127.0.0.1", "port": port, "replication_ip": "127.0.0.1",
        "replication_port": port, "device": "disk", "weight": 1.0, "meta": "",
    })
    builder.rebalance()
    builder.get_ring().save(f"{folder}/{kind}.ring.gz")
# The cache has no server: what is not found there is asked for, and tempauth wants that there is one to ask.
write("proxy-server.conf", f"""{server(proxy)}
[pipeline:main]
pipeline = catch_errors gatekeeper cache listing_formats s3api tempauth slo proxy-server

[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true

[filter:catch_errors]
use = egg:swift#catch_errors

[filter:gatekeeper]
use = egg:swift#gatekeeper

[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:1

[filter:listing_formats]
use = egg:swift#listing_formats

[filter:s3api]
use = egg:swift#s3api
location = us-east-1

[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = {secret} .admin

[filter:slo]
use = egg:swift#slo
allow_async_delete = false
""")
write("environment", f"""ATTACHMENTS_STORE=s3://attachments?endpoint=http://127.0.0.1:{proxy}&region=us-east-1&style=path
ATTACHMENTS_S3_ACCESS_KEY=test:tester
ATTACHMENTS_S3_SECRET_KEY={secret}
""")
END

# A server with a folder of its own in place of /etc/swift.
cat >"$folder/serve.py" <<'END'
import sys
from swift.common import utils

folder, section = sys.argv[1:]
utils.set_swift_dir(folder)
from swift.common.wsgi import run_wsgi

options = {"verbose": True}
if section == "object-server":
    from swift.obj import server

    options["global_conf_callback"] = server.global_conf_callback
sys.exit(run_wsgi(f"{folder}/{section}.conf", section, **options))
END
for server in account container object proxy; do
    "$python" "$folder/serve.py" "$folder" "$server-server" </dev/null >"$folder/$server.log" 2>&1 &
    servers+=($!)
done

# A client of S3 that is not ours makes the bucket, as soon as all four answer.
if ! "$python" - "$folder" "${servers[@]}" <<'END'; then
import os, sys, time
from urllib.parse import parse_qs, urlsplit
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.session import get_session

folder, *servers = sys.argv[1:]
with open(f"{folder}/environment") as lines:
    environment = dict(line.rstrip("\n").split("=", 1) for line in lines)
store = urlsplit(environment["ATTACHMENTS_STORE"])
options = parse_qs(store.query)
client = get_session().create_client(
    "s3", endpoint_url=options["endpoint"][0], region_name=options["region"][0],
    aws_access_key_id=environment["ATTACHMENTS_S3_ACCESS_KEY"],
    aws_secret_access_key=environment["ATTACHMENTS_S3_SECRET_KEY"],
    config=Config(
        signature_version="s3v4", s3={"addressing_style": "path"}, retries={"total_max_attempts": 1},
        proxies={}, connect_timeout=30, read_timeout=120))
end = time.monotonic() + 300
while True:
    try:
        client.create_bucket(Bucket=store.netloc)
        break
    except (BotoCoreError, ClientError) as error:
        gone = [server for server in servers if not os.path.exists(f"/proc/{server}") and os.path.exists("/proc")]
        if gone or time.monotonic() > end:
            sys.exit(f"swift-s3: {'a server has ended' if gone else error}")
        time.sleep(0.2)
END
    tail -n 30 "$folder"/*.log >&2
    exit 1
fi
cat "$folder/environment"
# Whoever reads the lines takes the end of the output for the end of the list; the servers have none of it.
exec >/dev/null
while read -r _; do :; done
