#!/usr/bin/env python3
"""The two halves of parity.sh that are no compiler: see there."""

import json
import re
import sys

# Sections that no public declaration of this package answers, with the reason.
LEFT_OUT = {
    "1.18": "the product for GRDB is an outside package's; README says how a team brings its own pool",
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


class Graph:
    """What a symbol graph says: symbols by mangled name, and relations between them."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
        # What a type has by conforming to a protocol is left out.
        self.symbols = {
            symbol["identifier"]["precise"]: symbol
            for symbol in content["symbols"]
            if "::SYNTHESIZED::" not in symbol["identifier"]["precise"]
        }
        # Types with the protocols that they conform to, requirements with their protocols, and requirements that need no
        # implementation.
        self.conformances, self.requirements, self.defaults = set(), {}, set()
        for relation in content["relationships"]:
            source, target = relation["source"], relation["target"]
            if relation["kind"] == "conformsTo" and source in self.symbols:
                name = relation.get("targetFallback") or self.path(target)
                self.conformances.add((source, name.split(".")[-1]))
            elif relation["kind"] == "requirementOf":
                self.requirements[source] = target
            elif relation["kind"] == "defaultImplementationOf":
                self.defaults.add(target)

    def path(self, name):
        """Returns what people call a symbol."""
        return ".".join(self.symbols[name]["pathComponents"])


def declaration(symbol):
    """Returns a declaration as the compiler prints it."""
    return "".join(part["spelling"] for part in symbol["declarationFragments"])


def spelling(symbol):
    """Returns a declaration in a form in which what callers cannot tell apart is the same; `is_settable` has the rest."""
    text = re.sub(r"\bany ", "", declaration(symbol))
    text = re.sub(r"\blet\b", "var", text)
    text = re.sub(r" \{ get \}", "", text)
    # An initialiser of an actor that calls another one of it; for callers it is as any.
    text = re.sub(r"^convenience (?=init\b)", "", text)
    text = re.sub(r"\((\w+)\)", r"\1", text)
    return re.sub(r"\s+", " ", text).strip()


def is_settable(symbol):
    """Tells whether a declaration is a property that may be set from outside; the compiler prints `get` of no other one."""
    text = declaration(symbol)
    return re.search(r"\bvar\b", text) is not None and re.search(r"\{ get \}", text) is None


def differences_of(name, wanted, present):
    """Returns in which ways a declaration is another one to callers, to subclasses and to types that conform."""
    here, there = present.symbols[name], wanted.symbols[name]
    found = []
    if spelling(here) != spelling(there):
        found.append(f"{spelling(here)}, and not {spelling(there)}")
    if here["accessLevel"] != there["accessLevel"]:
        found.append(f"{here['accessLevel']}, and not {there['accessLevel']}")
    if is_settable(there) and not is_settable(here):
        found.append("cannot be set")
    if is_settable(here) and not is_settable(there) and name in wanted.requirements:
        found.append("has to be settable in types that conform")
    return found


def compare(contract, ours, listed, least=300):
    """Prints what differs and is not listed, and what is listed and does not differ; fails for either."""
    wanted, present = Graph(contract), Graph(ours)
    if len(wanted.symbols) < least:
        sys.exit(f"parity: the contract declares only {len(wanted.symbols)} symbols: its section 1 was not read")
    differences = {}

    def differs(path, text):
        differences[path] = f"{differences[path]}; {text}" if path in differences else text

    for name, symbol in wanted.symbols.items():
        if name not in present.symbols:
            differs(wanted.path(name), f"missing: {spelling(symbol)}")
            continue
        for text in differences_of(name, wanted, present):
            differs(wanted.path(name), text)
    for name, protocol in sorted(wanted.conformances - present.conformances):
        if name in present.symbols:
            differs(f"{wanted.path(name)}: {protocol}", "does not conform")
    # An app may conform to every protocol (client-api 1.21).
    for name, protocol in present.requirements.items():
        if protocol in wanted.symbols and name not in wanted.symbols and name not in present.defaults:
            differs(present.path(name), "required without a default, and not in the contract")
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
        f"parity: {len(wanted.symbols)} declarations of the contract, {len(differences)} differences, "
        f"each with its reason; without {' and '.join(sorted(LEFT_OUT))}"
        if not failed
        else "parity: not as the contract says; what must differ stands in Scripts/parity-differences.txt"
    )
    sys.exit(failed)


if __name__ == "__main__":
    if sys.argv[1] == "interface":
        interface(*sys.argv[2:])
    else:
        compare(*sys.argv[2:])
