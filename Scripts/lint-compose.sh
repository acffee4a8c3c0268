#!/usr/bin/env bash
# Checks docker-compose.yml against the schema of the compose specification, its variables, and that its ports are
# published on this machine alone; needs no Docker.
set -euo pipefail
project=$(cd "$(dirname "$0")/.." && pwd)
cd "${1:-$project}"

# Made at the first run, which needs the network, and whenever the requirements change.
requirements=$project/Scripts/lint-requirements.txt
venv=$project/.build/lint-venv
if ! cmp -s "$requirements" "$venv/$(basename "$requirements")"; then
    "$project/Scripts/setup.sh" python
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check --require-hashes --requirement "$requirements"
    cp "$requirements" "$venv"
fi
"$venv/bin/check-jsonschema" --quiet --builtin-schema vendor.compose-spec docker-compose.yml

# Every variable has a value in .env or a default, and the service's configuration gets all that it asks for.
status=0
# shellcheck disable=SC2016 # the names of variables, not their values
while read -r name; do
    if ! grep -q "^$name=" .env; then
        echo "docker-compose.yml: \${$name} stands neither in .env nor has it a default"
        status=1
    fi
done < <(sed 's/#.*//' docker-compose.yml | grep -oE '\$\{[A-Z0-9_]+\}' | tr -d '${}' | sort -u)
while IFS=: read -r file name; do
    if ! grep -qE "^ +$name: " docker-compose.yml; then
        echo "$file: docker-compose.yml does not set $name"
        status=1
    fi
done < <(grep -HoE '^[^#]*!env [A-Za-z0-9_]+' docker/powersync.yaml docker/mock-service.yaml | sed 's/:.*!env /:/' | sort -u)

# A port without an address is open to every machine, past the firewall.
"$venv/bin/python" - <<'END' || status=1
import re, sys
from ruamel.yaml import YAML

with open(".env") as lines:
    values = dict(line.rstrip("\n").split("=", 1) for line in lines if re.match("[A-Z]", line))
with open("docker-compose.yml") as text:
    services = YAML(typ="safe").load(text)["services"]
status = 0
for name, service in services.items():
    for port in service.get("ports", []):
        if isinstance(port, dict):
            address = str(port.get("host_ip", ""))
        else:
            address = "".join(re.findall(r"^(.*):(?:\$\{[^}]*\}|[^:]*):[^:]*$", str(port)))
        address = re.sub(r"\$\{(\w+)\}", lambda match: values.get(match[1], ""), address)
        if address != "127.0.0.1":
            print(f"docker-compose.yml: {name} publishes {port} on '{address}', not on 127.0.0.1")
            status = 1
sys.exit(status)
END
exit $status
