#!/usr/bin/env bash
# The long forms of the tests, and the forms that other machines have. Runs each step to its end, says how long it
# took, and fails if one of them failed.
#
# usage: Scripts/nightly.sh [STEP...]      without arguments: all, in this order; none is meant to take more than an hour
#   sessions      10,000 random sessions against a model, 200 crashes
#   coordinator   10,000 random sessions of the coordinator
#   lifecycles    10,000 random sequences of calls that open, connect, clear and close; descriptors, threads and memory
#   endurance     1,000 connections made and ended at random moments, 10,000 watches; descriptors, threads and memory
#   uploads       100,000 changes through random failures, to a script and to a backend of this package
#   processes     200 starts of two processes at once on a new file, 50 kills of the one that syncs
#   attachments   100 kills of a client that saves, uploads, downloads and deletes files; two of them on one database; 1,000
#                 random sessions
#   state         200 kills of a process that replicates a script into the service's state, the same on files that lose what
#                 was not synced, and 200 of a service on Postgres
#   values        100,000 generated values for columns of every kind, through the backend into Postgres and out again
#   mutants       planted mistakes, which the sessions must notice
#   behaviours    planted mistakes, which tests of behaviours must notice
#   lookups       300 configurations of the language through the service, 40 random transactions each; what it costs to wake
#                 three of a thousand; ten planted mistakes, drawn by the day, which the transactions must notice
#   release       all products as a release build, in which a warning is an error, too, and the size of a static program
#   links         dead links to Postgres, 1,000 clients that vanish and databases that say nothing, with the times of
#                 production; a transaction of 20,000,000 rows; 100 seeds of random transactions; 500 lost answers to
#                 COMMIT; migrations under load
#   bounds        100 bodies of 16 MiB at once, 5,000 connections that get nowhere, a user with 100 requests in flight, and
#                 a minute of twice as many uploads as connections, against a release build
#   pruning       a ledger of 5,000,000 entries is pruned while 1,000 transactions a second arrive, against a release build
#   figures       the tables of two clients on backend and service, and of faults; both fail unless A = B = Postgres at the end
#   busy          the whole suite with two busy processes beside it
#   postgres-18   the whole suite on PostgreSQL 18
#   sanitize-thread   the client, what it stands on, and the HTTP server under ThreadSanitizer
#   sanitize-address  the same under AddressSanitizer
#   fuzz          what reads bytes from outside: the targets of Scripts/fuzz.sh but those of the backend, five minutes each
#   fuzz-backend  those of the backend, ten minutes each
set -euo pipefail
cd "$(dirname "$0")/.."

sessions() {
    POWERSYNC_ONLY=Client POWERSYNC_PROPERTY_SEEDS="${POWERSYNC_PROPERTY_SEEDS:-10000}" \
        POWERSYNC_CRASHES="${POWERSYNC_CRASHES:-200}" Scripts/test.sh --filter 'SyncPropertyTests|CrashTests'
}

coordinator() {
    POWERSYNC_ONLY=Client POWERSYNC_COORDINATOR_SEEDS="${POWERSYNC_COORDINATOR_SEEDS:-10000}" \
        Scripts/test.sh --filter CoordinatorPropertyTests
}

lifecycles() {
    POWERSYNC_ONLY=Client POWERSYNC_LIFECYCLES="${POWERSYNC_LIFECYCLES:-10000}" \
        Scripts/test.sh --filter LifecycleSequenceTests
}

endurance() {
    POWERSYNC_ONLY=Client POWERSYNC_CONNECTS="${POWERSYNC_CONNECTS:-1000}" \
        POWERSYNC_WATCHES="${POWERSYNC_WATCHES:-10000}" Scripts/test.sh --filter EnduranceTests
}

uploads() {
    POWERSYNC_UPLOAD_ENTRIES="${POWERSYNC_UPLOAD_ENTRIES:-100000}" \
        Scripts/test.sh --filter 'UploadLoopTests|UploadLedgerTests'
}

processes() {
    POWERSYNC_ONLY=Client POWERSYNC_STARTS="${POWERSYNC_STARTS:-200}" POWERSYNC_KILLS="${POWERSYNC_KILLS:-50}" \
        Scripts/test.sh --filter TwoProcessTests
}

attachments() {
    POWERSYNC_ATTACHMENT_KILLS="${POWERSYNC_ATTACHMENT_KILLS:-100}" \
        Scripts/test.sh --filter 'AttachmentKillTests|AttachmentProcessTests'
    POWERSYNC_ONLY=Client POWERSYNC_ATTACHMENT_SEEDS="${POWERSYNC_ATTACHMENT_SEEDS:-1000}" \
        Scripts/test.sh --filter AttachmentRandomTests
}

state() {
    POWERSYNC_ONLY=MockService POWERSYNC_SERVICE_KILLS="${POWERSYNC_SERVICE_KILLS:-200}" \
        Scripts/test.sh --filter CrashTests
}

values() {
    POWERSYNC_ONLY=Backend POWERSYNC_BACKEND_VALUES="${POWERSYNC_BACKEND_VALUES:-100000}" \
        POWERSYNC_LEDGER_HISTORIES="${POWERSYNC_LEDGER_HISTORIES:-2000}" POWERSYNC_TEST_PATIENCE="${POWERSYNC_TEST_PATIENCE:-20}" \
        POWERSYNC_ORDER_SEEDS="${POWERSYNC_ORDER_SEEDS:-1000}" \
        Scripts/test.sh --filter 'GeneratedValuesTests|LedgerHistoryTests|RunOrderTests'
}

mutants() {
    Scripts/mutants.sh
}

behaviours() {
    Scripts/mutants.sh --behaviours
}

lookups() {
    POWERSYNC_ONLY=Stack POWERSYNC_LANGUAGE_CONFIGURATIONS="${POWERSYNC_LANGUAGE_CONFIGURATIONS:-300}" \
        Scripts/test.sh --filter IncrementalTests
    POWERSYNC_ONLY=MockService POWERSYNC_REAL_TIMES=1 \
        Scripts/test.sh --filter LookupWakeUpTests/costsTheSameBesideAThousand
    Scripts/mutants.sh --lookups --draw "$(date +%Y%m%d)"
}

# The manifest makes every warning of the package an error; here in the code that a debug build leaves out.
release() {
    swift build -c release
    Scripts/outside-package.sh --static
}

links() {
    POWERSYNC_ONLY=MockService POWERSYNC_REAL_TIMES=1 POWERSYNC_TEST_PATIENCE="${POWERSYNC_TEST_PATIENCE:-20}" \
        POWERSYNC_UNPUBLISHED_ROWS="${POWERSYNC_UNPUBLISHED_ROWS:-20000000}" \
        POWERSYNC_TRANSACTION_SEEDS="${POWERSYNC_TRANSACTION_SEEDS:-100}" \
        Scripts/test.sh --filter 'LinkTests|RandomTransactionTests'
    POWERSYNC_ONLY=HTTPServer POWERSYNC_REAL_TIMES=1 Scripts/test.sh --filter AcceptedSocketTests
    # With the patience of the others no time would be judged; a quarter more is what a machine may stand still.
    POWERSYNC_ONLY=Postgres POWERSYNC_REAL_TIMES=1 POWERSYNC_TEST_PATIENCE=1.25 Scripts/test.sh --filter DeadlineTests
    POWERSYNC_ONLY=Backend POWERSYNC_REAL_TIMES=1 POWERSYNC_TEST_PATIENCE=1.25 Scripts/test.sh --filter SilentDatabaseTests
    POWERSYNC_ONLY=Backend POWERSYNC_LOST_COMMITS="${POWERSYNC_LOST_COMMITS:-500}" \
        POWERSYNC_MIGRATION_ANSWERS="${POWERSYNC_MIGRATION_ANSWERS:-2000}" \
        POWERSYNC_TEST_PATIENCE="${POWERSYNC_TEST_PATIENCE:-20}" Scripts/test.sh --filter 'LostCommitTests|MigrationUnderLoadTests'
}

# The figures are promised for what runs in production, hence the release build.
measured() {
    local options=(-c release --scratch-path .build/bounds) log=.build/bounds.log
    export POWERSYNC_ONLY=Backend POWERSYNC_TEST_PATIENCE="${POWERSYNC_TEST_PATIENCE:-4}"
    swift build --build-tests "${options[@]}"
    mkdir -p .build
    swift test --skip-build --disable-xctest "${options[@]}" --filter "$1" 2>&1 | tee "$log"
    Scripts/tests-ran.sh "$log"
}

bounds() {
    export POWERSYNC_BODIES="${POWERSYNC_BODIES:-100}" POWERSYNC_CROWD="${POWERSYNC_CROWD:-5000}" \
        POWERSYNC_FAIRNESS="${POWERSYNC_FAIRNESS:-1000}" POWERSYNC_SOAK="${POWERSYNC_SOAK:-60}"
    measured 'HeavyBodyTests|CrowdTests|FairnessTests|SoakTests'
}

pruning() {
    export POWERSYNC_LEDGER_ENTRIES="${POWERSYNC_LEDGER_ENTRIES:-5000000}" \
        POWERSYNC_PRUNING_SECONDS="${POWERSYNC_PRUNING_SECONDS:-600}"
    measured PruningTests
}

figures() {
    make bench-stack
    make bench-faults
}

busy() {
    Scripts/busy.sh Scripts/test.sh
}

postgres-18() {
    Scripts/postgres-18.sh Scripts/test.sh
}

sanitize-thread() {
    Scripts/sanitize.sh thread
}

sanitize-address() {
    Scripts/sanitize.sh address
}

fuzz() {
    Scripts/fuzz.sh lines pgoutput http tokens keys configuration sync-configs sql values
}

fuzz-backend() {
    FUZZ_SECONDS="${FUZZ_SECONDS:-600}" Scripts/fuzz.sh uploads maps
}

all=(
    sessions coordinator lifecycles endurance uploads processes attachments state values mutants behaviours lookups release links
    bounds pruning figures busy postgres-18 sanitize-thread sanitize-address fuzz fuzz-backend
)
if [ $# -eq 0 ]; then set -- "${all[@]}"; fi
for step in "$@"; do
    if [[ " ${all[*]} " != *" $step "* ]]; then
        echo "nightly: there is no step $step: ${all[*]}" >&2
        exit 2
    fi
done

failed=0
summary=''
for step in "$@"; do
    printf '\n== %s\n' "$step"
    started=$SECONDS
    # In a shell of its own, where a failing command ends it.
    set +e
    (
        set -e
        "$step"
    )
    status=$?
    set -e
    result=ok
    if [ "$status" -ne 0 ]; then
        result=FAILED
        failed=1
    fi
    summary+=$(printf '%-7s %-16s %5d s' "$result" "$step" $((SECONDS - started)))$'\n'
done
printf '\n%s' "$summary"
exit "$failed"
