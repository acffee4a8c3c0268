import PowerSyncPostgresValues
import Testing

@testable import PowerSyncServiceEngine

/// Which commits of a group become visible (service 4.6).
struct CommitRuleTests {
    private func lsn(_ value: UInt64) -> LSN { LSN(rawValue: value) }

    private func stream(
        isSnapshotDone: Bool = true, hold: UInt64 = 0, isAhead: Bool = false, last: Int64 = 7,
        checkpoint: Int64 = 7
    ) -> StreamRecord {
        StreamRecord(
            number: 1, config: "", configHash: "", slot: "", publication: 1, isActive: true, isStopped: false,
            isSnapshotDone: isSnapshotDone, noCheckpointBefore: lsn(hold), isAhead: isAhead,
            appliedLSN: .zero, lastOperation: last,
            checkpoint: StoredCheckpoint(operation: checkpoint, lsn: .zero), reportedLSN: .zero)
    }

    /// The operation of the checkpoint that a commit becomes.
    private func operation(
        _ rule: inout CommitRule, at position: UInt64, written: Int64 = 0, mayShow: Bool = true
    ) -> Int64? {
        rule.commits(lsn(position), written: written, mayShow: { _ in mayShow })?.operation
    }

    @Test func aCommitHasEverythingThatThisStreamWroteBeforeIt() {
        var rule = CommitRule(stream(last: 9))
        #expect(!rule.isPublished)
        #expect(operation(&rule, at: 10) == 9)
        #expect(operation(&rule, at: 11, written: 15) == 15)
        // What others have written meanwhile moves nothing.
        #expect(operation(&rule, at: 12) == 15)
        #expect(CommitRule(stream()).isPublished)
    }

    @Test func nothingIsVisibleBeforeTheSnapshotIsDoneAndTheLogHasPassedWhatWasRead() {
        var rule = CommitRule(stream(isSnapshotDone: false))
        #expect(operation(&rule, at: 10) == nil)
        rule.holds(until: lsn(30), isAhead: false, isSnapshotDone: true)
        #expect(operation(&rule, at: 29) == nil)
        #expect(operation(&rule, at: 30) == 7)
        rule.holds(until: lsn(20), isAhead: false, isSnapshotDone: false)
        #expect(operation(&rule, at: 25) == nil, "an earlier position takes nothing back")
    }

    @Test func rowsThatWereReadAreVisibleOnceTheyHaveAPosition() {
        var rule = CommitRule(stream(hold: 5))
        #expect(rule.aheadUntil == lsn(5))
        rule.readsAhead()
        #expect(rule.aheadUntil == lsn(.max))
        #expect(operation(&rule, at: 10) == nil)
        // A piece of which more follows.
        rule.holds(until: lsn(12), isAhead: true, isSnapshotDone: false)
        #expect(operation(&rule, at: 20) == nil)
        rule.holds(until: lsn(22), isAhead: false, isSnapshotDone: false)
        #expect(rule.aheadUntil == lsn(22))
        #expect(operation(&rule, at: 21) == nil)
        #expect(operation(&rule, at: 22) == 7)
    }

    @Test func aRowThatIsMissingHidesAllCommitsBehindIt() {
        var rule = CommitRule(stream())
        #expect(operation(&rule, at: 10, written: 8) == 8)
        rule.misses()
        #expect(rule.aheadUntil == lsn(.max))
        #expect(operation(&rule, at: 11, written: 9) == nil)
        rule.holds(until: lsn(12), isAhead: false, isSnapshotDone: false)
        #expect(operation(&rule, at: 13, written: 9) == nil)
    }

    @Test func whatClientsMayNotBeShownIsStoredAlone() {
        var rule = CommitRule(stream())
        #expect(operation(&rule, at: 10, written: 8, mayShow: false) == nil)
        #expect(operation(&rule, at: 11, written: 9) == 9)
    }
}
