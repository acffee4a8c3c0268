#!/usr/bin/env python3
"""Proves that parity.py names each way in which an app of the contract would no longer compile.

Two small symbol graphs are compared, one of which has been changed; and what no app can tell apart has to pass.
"""

import contextlib
import io
import json
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
import parity

# A symbol a line: path, access level, declaration; behind > a relation between two of them.
CONTRACT = """\
Options | public | struct Options
Options.params | public | var params: [String]
Options.name | public | let name: String
Options.isEmpty | public | var isEmpty: Bool { get }
Options.init(params:) | public | init(params: [String] = [], status: Status?)
Connector | open | class Connector
Connector.upload() | open | func upload() async throws
Status | public | protocol Status : Sendable
Status.connected | public | var connected: Bool { get }
> requirementOf | Status.connected | Status
> conformsTo | Options | Sendable
"""
MORE = """\
Status.more | public | var more: Int { get }
> requirementOf | Status.more | Status
"""
DEFAULT = """\
Status.more (default) | public | var more: Int { get }
> defaultImplementationOf | Status.more (default) | Status.more
"""

# What passes: a title, texts and their replacements, lines more.
TAKEN = [
    ("the same", {}, ""),
    ("an existential that is spelled out", {"status: Status?": "status: (any Status)?"}, ""),
    ("a constant that is computed", {"let name: String": "var name: String { get }"}, ""),
    ("a computed property that is a constant", {"var isEmpty: Bool { get }": "let isEmpty: Bool"}, ""),
    ("a property that may be set, too", {"let name": "var name"}, ""),
    ("a declaration more", {}, "Options.more | public | var more: Int\n"),
    ("a requirement more, with a default", {}, MORE + DEFAULT),
]
# What must be named: a title, texts and their replacements, lines more, and all that is said.
NAMED = [
    ("a property that is a constant now", {"var params": "let params"}, "", ["Options.params: cannot be set"]),
    (
        "a property that is computed now",
        {"params: [String]\n": "params: [String] { get }\n"},
        "",
        ["Options.params: cannot be set"],
    ),
    (
        "a requirement that may be set now",
        {"connected: Bool { get }": "connected: Bool"},
        "",
        ["Status.connected: has to be settable in types that conform"],
    ),
    ("a requirement more", {}, MORE, ["Status.more: required without a default, and not in the contract"]),
    (
        "a class that nobody may inherit from",
        {"Connector | open": "Connector | public"},
        "",
        ["Connector: public, and not open"],
    ),
    (
        "a method that nobody may override",
        {"upload() | open": "upload() | public"},
        "",
        ["Connector.upload(): public, and not open"],
    ),
    (
        "a default that is gone",
        {" = []": ""},
        "",
        [
            "Options.init(params:): init(params: [String], status: Status?), "
            "and not init(params: [String] = [], status: Status?)"
        ],
    ),
    (
        "another type, and a constant",
        {"var params: [String]": "let params: [Int]"},
        "",
        ["Options.params: var params: [Int], and not var params: [String]; cannot be set"],
    ),
    (
        "a declaration that is gone",
        {"Connector.upload() | open | func upload() async throws\n": ""},
        "",
        ["Connector.upload(): missing: func upload() async throws"],
    ),
    (
        "a conformance that is gone",
        {"> conformsTo | Options | Sendable\n": ""},
        "",
        ["Options: Sendable: does not conform"],
    ),
]

folder = None
failures = []


def graph(name, lines):
    """Writes a symbol graph of such lines, and returns its path."""
    symbols, relations = [], []
    for line in lines.splitlines():
        parts = [part.strip() for part in line.lstrip("> ").split(" | ")]
        if line.startswith(">"):
            kind, source, target = parts
            relations.append(
                {"kind": kind, "source": source, "target": target, "targetFallback": f"Swift.{target}"}
            )
        else:
            path, level, text = parts
            symbols.append(
                {
                    "identifier": {"precise": path},
                    "pathComponents": path.split("."),
                    "accessLevel": level,
                    "declarationFragments": [{"kind": "text", "spelling": text}],
                }
            )
    place = folder / name
    place.write_text(json.dumps({"symbols": symbols, "relationships": relations}), encoding="utf-8")
    return place


def compared(replacements, more="", listed="", least=1):
    """Compares the contract with itself after a change; returns whether that passed, and the lines that were said."""
    ours = CONTRACT
    for text, replacement in replacements.items():
        assert text in ours, text
        ours = ours.replace(text, replacement)
    reasons = folder / "listed"
    reasons.write_text(listed, encoding="utf-8")
    output, passed = io.StringIO(), False
    with contextlib.redirect_stdout(output):
        try:
            parity.compare(graph("contract", CONTRACT), graph("ours", ours + more), reasons, least)
        except SystemExit as end:
            passed = not end.code
            if isinstance(end.code, str):
                print(end.code)
    return passed, output.getvalue().splitlines()


def expect(title, result, passes, lines):
    """Notes a comparison whose result is another one; the last line says only whether it passed."""
    passed, said = result
    if passed != passes or said[:-1] != [f"parity: {line}" for line in lines]:
        failures.append("\n".join([f"{title}: {'passes' if passed else 'fails'}, and says", *said]))


def main():
    """Runs all comparisons, and fails if one of them has another result."""
    for title, replacements, more in TAKEN:
        expect(title, compared(replacements, more), True, [])
    for title, replacements, more, lines in NAMED:
        expect(title, compared(replacements, more), False, lines)

    constant = {"var params": "let params"}
    reason = "# A comment.\nOptions.params | what is made of it is fixed\n"
    expect("a difference that is listed", compared(constant, listed=reason), True, [])
    gone = "Options.params is listed as different, and is not"
    expect("one that is listed and gone", compared({}, listed=reason), False, [gone])
    both = constant | {"Connector | open": "Connector | public"}
    other = "Connector: public, and not open"
    expect("one that is listed, and another", compared(both, listed=reason), False, [other])
    unexplained = compared(constant, listed="Options.params | \n")
    expect("one without its reason", unexplained, False, ["Options.params: cannot be set"])
    passed, said = compared({}, least=10)
    if passed or "declares only 9 symbols" not in said[-1]:
        failures.append(f"a contract that was not read is compared: {said}")

    # Of the contract the declarations of section 1 are taken, without the sections that are left out.
    text = "## 1. Public API surface\n"
    for number in ["1.1", "1.18", "1.19", "1.20", "1.21"]:
        text += f"### {number} Title\n```swift\nlet n = {number}\n```\n```sql\nlet n = 0\n```\n"
    (folder / "contract.md").write_text(text, encoding="utf-8")
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        parity.interface(folder / "contract.md", "6.3", "linux")
    taken = [line for line in output.getvalue().splitlines() if line.startswith("let ")]
    if taken != ["let n = 1.1", "let n = 1.19", "let n = 1.20"]:
        failures.append(f"other declarations were taken: {taken}")

    print("\n".join(failures), end="\n" if failures else "")
    sys.exit(bool(failures))


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    main()
