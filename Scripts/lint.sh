#!/usr/bin/env bash
# Runs every check that a machine can do; goes on after a failure and fails at the end.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
Scripts/setup.sh python shellcheck || exit

failed=0
check() {
    local title=$1 output
    shift
    if output=$("$@" 2>&1); then
        printf 'ok      %s\n' "$title"
    else
        printf 'FAILED  %s\n%s\n' "$title" "$output"
        failed=1
    fi
}

swift_format() {
    local folders=()
    for folder in *.swift Wire Platform Client Conformance Backend MockService Stack Tests Benchmarks Examples; do
        if [ -e "$folder" ]; then folders+=("$folder"); fi
    done
    swift format lint --strict --recursive --parallel "${folders[@]}"
}

scripts() {
    local script status=0
    for script in Scripts/*.sh Scripts/*.py .ci/run; do
        [ -x "$script" ] || { echo "$script is not executable" && status=1; }
    done
    # Functions that are called through a name in a variable look unreachable.
    shellcheck --exclude=SC2317,SC2329 Scripts/*.sh .ci/run || status=1
    return "$status"
}

check 'format and documentation of the Swift files' swift_format
check 'imports follow the arrows of ARCHITECTURE.md' Scripts/lint-imports.py
check 'nothing leads outside the project, no secret is in it' Scripts/lint-contents.sh
check 'docker-compose.yml is a compose file' Scripts/lint-compose.sh
check 'scripts are as shellcheck wants them' scripts
check 'the checks notice what they are for' Scripts/lint-test.sh
check 'the set-up knows what is too old' Scripts/setup-test.sh
check 'a crash does not pass for a mistake that was noticed' Scripts/mutants-test.sh
check 'a report of a sanitizer does not pass for a clean run' Scripts/sanitize-test.sh
check 'nothing in the environment narrows what every change must pass' Scripts/ci-test.sh
check 'a nightly step in which no test ran does not pass' Scripts/nightly-test.sh
check 'what breaks an app does not pass for what the contract declares' Scripts/parity-test.py
check 'busy processes end with the tests beside them' Scripts/busy-test.sh
exit $failed
