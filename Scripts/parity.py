#!/usr/bin/env python3
"""The two halves of parity.sh that are no compiler: see there."""

import json
import re
import sys

# Sections that no public declaration of this package answers, with the reason.
LEFT_OUT = {
    "1.18": "the product for GRDB is an outside package's; README says how a team brings its own pool",
    "1.19": "attachments are not there yet",
}


def interface(contract, compiler, target):
    """Prints the declarations of section 1 of the contract as a textual module interface."""
    text = open(contract, encoding="utf-8").read()
    section = text[text.index("## 1. Public API surface") : text.index("### 1.21")]
    print("// swift-interface-format-version: 1.0")
    print(f"// swift-compiler-version: {compiler}")
    print(f"// swift-module-flags: -target {target} -module-name PowerSync -swift-version 6")
    for module in ["Swift", "_Concurrency", "FoundationEssentials"]:
        print(f"import {module}")
    parts = re.split(r"^### (1\.\d+)", section, flags=re.M)
    for number, body in zip(parts[1::2], parts[2::2]):
        if number in LEFT_OUT:
            continue
        for code in re.findall(r"```swift\n(.*?)```", body, re.S):
            # Neither is in what the client may import, and neither shows in a graph.
            code = code.replace("@Observable ", "").replace("Bundle.main.bundleIdentifier ?? ", "")
            print(f"// {number}\n{code}")


def graph(path):
    """Returns the symbols of a graph by mangled name, and what each type conforms to."""
    with open(path, encoding="utf-8") as file:
        content = json.load(file)
    symbols = {}
    for symbol in content["symbols"]:
        name = symbol["identifier"]["precise"]
        if "::SYNTHESIZED::" not in name:
            symbols[name] = symbol
    conformances = set()
    for relation in content["relationships"]:
        if relation["kind"] == "conformsTo" and relation["source"] in symbols:
            target = relation.get("targetFallback") or symbols[relation["target"]]["names"]["title"]
            conformances.add((relation["source"], target.split(".")[-1]))
    return symbols, conformances


def spelling(symbol):
    """Returns a declaration in a form in which what callers cannot tell apart is the same."""
    text = "".join(part["spelling"] for part in symbol["declarationFragments"])
    text = re.sub(r"\bany ", "", text)
    text = re.sub(r"\blet\b", "var", text)
    text = re.sub(r" \{ get \}", "", text)
    text = re.sub(r"\((\w+)\)", r"\1", text)
    return re.sub(r"\s+", " ", text).strip()


def compare(contract, ours, listed):
    """Prints what differs and is not listed, and what is listed and does not differ; fails for either."""
    wanted, wanted_conformances = graph(contract)
    present, present_conformances = graph(ours)
    if len(wanted) < 300:
        sys.exit(f"parity: the contract declares only {len(wanted)} symbols: its section 1 was not read")
    differences = {}
    for name, symbol in wanted.items():
        path = ".".join(symbol["pathComponents"])
        if name not in present:
            differences[path] = f"missing: {spelling(symbol)}"
        elif spelling(symbol) != spelling(present[name]):
            differences[path] = f"{spelling(present[name])}, and not {spelling(symbol)}"
    for name, protocol in sorted(wanted_conformances - present_conformances):
        if name in present:
            path = ".".join(wanted[name]["pathComponents"])
            differences[f"{path}: {protocol}"] = "does not conform"
    reasons = {}
    with open(listed, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                path, _, reason = line.partition(" | ")
                reasons[path.strip()] = reason.strip()
    failed = False
    for path, text in sorted(differences.items()):
        if not reasons.get(path):
            print(f"parity: {path}: {text}")
            failed = True
    for path in sorted(reasons.keys() - differences.keys()):
        print(f"parity: {path} is listed as different, and is not")
        failed = True
    print(
        f"parity: {len(wanted)} declarations of the contract, {len(differences)} differences, "
        f"each with its reason; without {' and '.join(sorted(LEFT_OUT))}"
        if not failed
        else "parity: not as the contract says; what must differ stands in Scripts/parity-differences.txt"
    )
    sys.exit(failed)


if sys.argv[1] == "interface":
    interface(*sys.argv[2:])
else:
    compare(*sys.argv[2:])
