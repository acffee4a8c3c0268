import PowerSyncMockService
import PowerSyncPostgres
import Testing

/// What clients are served from, and when that changes (service 7.2).
struct CheckpointHubTests {
    private let config: CompiledSyncConfig

    init() throws { config = try SyncConfigReader.compile(ReplicationServiceTests.config) }

    private func checkpoint(_ lsn: UInt64) -> StoredCheckpoint {
        StoredCheckpoint(operation: Int64(lsn), lsn: LSN(rawValue: lsn))
    }

    @Test func aNewStreamTakesOverOnceItIsAsNewAsWhatIsServed() {
        let hub = CheckpointHub()
        #expect(hub.mayServe(1, from: checkpoint(5)), "there was nothing before it")
        hub.publish(stream: 1, config: config, checkpoint(10))
        #expect(!hub.mayServe(2, from: checkpoint(9)))
        // The former one does not run ahead meanwhile.
        hub.publish(stream: 1, config: config, checkpoint(12), maySwitch: false)
        #expect(hub.current?.checkpoint == checkpoint(10))
        #expect(hub.mayServe(2, from: checkpoint(10)))
        hub.publish(stream: 2, config: config, checkpoint(10))
        #expect(hub.current?.stream == 2)
        hub.publish(stream: 2, config: config, checkpoint(11))
        #expect(hub.current?.checkpoint == checkpoint(11))
        hub.publish(stream: 1, config: config, checkpoint(12), maySwitch: false)
        #expect(hub.current?.stream == 2)
    }

    @Test func whatIsServedGoesOnWhenItsSuccessorIsLost() {
        let hub = CheckpointHub()
        hub.publish(stream: 1, config: config, checkpoint(10))
        #expect(!hub.mayServe(2, from: checkpoint(9)))
        hub.abandonSwitch()
        hub.publish(stream: 1, config: config, checkpoint(12), maySwitch: false)
        #expect(hub.current?.checkpoint == checkpoint(12))
    }

    /// A former configuration asks the state which stream is served while the new one takes its place.
    @Test func whatIsServedGivesWayToNothingThatWasOnlyToBeTheFirst() {
        let hub = CheckpointHub()
        hub.publishFirst(stream: 1, config: config, checkpoint(10))
        #expect(hub.current?.stream == 1)
        hub.publish(stream: 2, config: config, checkpoint(10))
        hub.publishFirst(stream: 1, config: config, checkpoint(12))
        #expect(hub.current?.stream == 2 && hub.current?.checkpoint == checkpoint(10))
    }
}
