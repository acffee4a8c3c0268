#!/usr/bin/env python3
"""The half of examples.sh that is no compiler: see there."""

import os
import re
import sys
from pathlib import Path

# What an example may speak of without declaring it, and its type.
NAMES = {
    "database": "any PowerSyncDatabaseProtocol",
    "connector": "any PowerSyncBackendConnectorProtocol",
    "account": "Account",
}
# A type of the app's own.
ACCOUNT = """\
/// Knows who is signed in to the app.
struct Account: Sendable {
    /// The header field by which the app's backend knows the user.
    var authorization: String? { get async { nil } }
}
"""
# Folders whose fences are no examples: parity.sh compiles the declarations of the contract.
LEFT_OUT = {"Documentation/Contract", "Tests"}
# Examples that need more than the client, by file and first line, and the code in which they stand word for word, and run.
# None: the example is a whole file, which Scripts/outside-package.sh takes out of the text and builds.
ELSEWHERE = {
    ("README.md", "// swift-tools-version: 6.2"): None,
    (
        "README.md",
        "struct GRDBConnections: SQLiteConnectionPoolProtocol {",
    ): "Tests/ClientTests/Pools/GRDBExampleTests.swift",
    (
        "Backend/Backend.swift",
        "let backend = Backend(configuration: configuration, poller: poller, log: log)",
    ): "Tests/BackendTests/ServerTests.swift",
}


def files(root):
    """The paths of all sources and texts below a folder, relative to it."""
    for folder, folders, names in os.walk(root):
        place = Path(folder).relative_to(root)
        folders[:] = sorted(
            name for name in folders if name[0] != "." and (place / name).as_posix() not in LEFT_OUT
        )
        for name in sorted(names):
            if name.endswith((".swift", ".md")):
                yield place / name


def fences(root, path):
    """The examples of a file, each with the number of its first line and its lines."""
    is_source = path.suffix == ".swift"
    start, language, indentation, lines = 0, "", 0, []
    for number, line in enumerate((root / path).read_text(encoding="utf-8").splitlines(), 1):
        if is_source:
            comment = re.match(r"\s*/// ?(.*)", line)
            if not comment:
                if start:
                    sys.exit(f"{path}:{start - 1}: the fence has no end")
                continue
            line = comment[1]
        mark = re.match(r"( *)```(.*)", line)
        if not mark:
            # A fence within a list is indented with it.
            lines.append(line[indentation:] if not line[:indentation].strip() else line)
        elif not start:
            start, language, indentation, lines = number + 1, mark[2].strip(), len(mark[1]), []
            if is_source and not language:
                sys.exit(f"{path}:{number}: the fence names no language")
        else:
            if language.lower() == "swift":
                yield start, lines
            start = 0
    if start:
        sys.exit(f"{path}:{start - 1}: the fence has no end")


def stands_in(lines, code):
    """Whether code has the lines, one after the other, however they are indented."""
    wanted = [line.strip() for line in lines]
    there = [line.strip() for line in code.splitlines()]
    return any(there[place : place + len(wanted)] == wanted for place in range(len(there)))


def function(number, path, start, lines):
    """A file in which an example is the body of a function; the compiler tells its places as those of the example."""
    imports = [line for line in lines if re.fullmatch(r"import \w+", line)]
    body = ["" if line in imports else line for line in lines]
    # What an example leaves to its reader is used here.
    made = [match[1] for line in body if (match := re.match(r"(?:let|var) (\w+)", line))]
    parameters = ", ".join(f"{name}: {type}" for name, type in NAMES.items())
    return "\n".join(
        [
            *sorted({"import PowerSync", *imports}),
            "",
            f"func example{number}({parameters}) async throws {{",
            f'#sourceLocation(file: "{path}", line: {start})',
            *body,
            "#sourceLocation()",
            *(f"    _ = {name}" for name in made),
            "}",
            "",
        ]
    )


def main(root, work):
    """Writes a file for each example that is to be compiled, and says how many there are."""
    root, work = Path(root), Path(work)
    count, elsewhere = 0, set()
    for path in files(root):
        for start, lines in fences(root, path):
            place = (path.as_posix(), lines[0] if lines else "")
            if place not in ELSEWHERE:
                count += 1
                (work / f"Example{count}.swift").write_text(
                    function(count, path.as_posix(), start, lines), encoding="utf-8"
                )
                continue
            elsewhere.add(place)
            test = ELSEWHERE[place]
            if test and not stands_in(lines, (root / test).read_text(encoding="utf-8")):
                sys.exit(f"{path}:{start}: this example is another than in {test}")
    gone = [place for place in ELSEWHERE if place not in elsewhere and (root / place[0]).exists()]
    if gone:
        sys.exit(f"examples: listed and not there: {gone}")
    if count == 0:
        sys.exit(f"examples: {root} has none")
    (work / "Account.swift").write_text(ACCOUNT, encoding="utf-8")
    print(f"examples: {count} to compile; {len(elsewhere)} more stand in code that is built elsewhere", flush=True)


main(*sys.argv[1:])
