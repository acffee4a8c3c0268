import PowerSyncPostgresValues
import PowerSyncServiceEngine
import PowerSyncSystem

/// The scripted source behind the seam where Postgres stands in the service.
struct ScriptedChanges: ChangeSource {
    let source: ScriptedSource
    let journal: StoreJournal
    let moments: StoreMoments
    let poller: Poller

    var address: String { "a script" }

    /// Each state has a script of its own.
    func claims(_ store: ServiceStore, until end: ContinuousClock.Instant) async throws -> StateClaim {
        .itsOwn
    }

    func replicate(_ work: ReplicationWork) async throws {
        try await ScriptedReplicator(
            source: source, store: work.store, publisher: work.publisher, frames: work.frames,
            journal: journal, moments: moments, poller: poller, name: work.configHash,
            isFormer: work.formerStream != nil
        ).run()
    }

    func head() async throws -> LSN { source.now.position }

    /// The script goes on committing, and so does its log.
    func mark() async throws {}

    func close() async {}
}
