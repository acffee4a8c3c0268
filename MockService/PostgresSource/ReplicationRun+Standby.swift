import PowerSyncCommandLine
import PowerSyncPostgres
import PowerSyncServiceEngine
import PowerSyncSystem

/// Commits on the source that wait for this service as for a standby, as with `synchronous_standby_names = '*'`.
///
/// Nobody sees such a commit before it is reported as safe here, and it cannot be stored here before tables are looked at as
/// they are behind it. So it is promised to be stored; a link that ends before that finds the slot further than the state,
/// which means everything anew.
extension ReplicationRun {
    /// How long a transaction is not seen before it is looked why.
    private static let usual = Duration.milliseconds(50)
    /// How long it is waited until it is looked again.
    private static let moment = Duration.milliseconds(50)

    /// Returns once transactions are to be seen on the connection that reads.
    func wait(for unseen: inout UnseenTransactions, _ reporter: StandbyReporter) async throws {
        guard !unseen.isEmpty else { return }
        var end = ContinuousClock.now + replicator.times.statement
        var nextLook = ContinuousClock.now + Self.usual
        var delay = SightDelay()
        while try await !unseen.areSeen(connection) {
            guard ContinuousClock.now < end else {
                throw PostgresError(.timedOut, try await unseen.reason(connection))
            }
            if ContinuousClock.now >= nextLook {
                let state = try await standbyState()
                if state == .current {
                    await reporter.promise(try await SourceCatalog(connection).flushedPosition())
                    try await reporter.report()
                }
                // Postgres lets no commit go by a link that has not taken all of the log yet.
                if state != .none, try await readAhead(&unseen) {
                    end = .now + replicator.times.statement
                    replicator.health.step(before: replicator.times.statement)
                }
                nextLook = .now + Self.moment
            }
            try await replicator.poller.sleep(until: .now + delay.next())
        }
        unseen.clear()
    }

    /// Keeps for a moment what the stream says next.
    private func readAhead(_ unseen: inout UnseenTransactions) async throws -> Bool {
        let end = ContinuousClock.now + Self.moment
        var isNews = false
        while unseen.hasRoom, ContinuousClock.now < end,
            let frames = try await replication.nextReplicationFrames(until: end)
        {
            for index in 0..<frames.count where !isNews {
                if case .xlog = try ReplicationFrame.read(frames.bytes, in: frames[index]) { isNews = true }
            }
            unseen.keep(frames)
        }
        return isNews
    }

    /// What this link is to those who commit, which is said once.
    @discardableResult
    func standbyState() async throws -> SourceCatalog.StandbyState {
        let state = try await SourceCatalog(connection).standbyState(of: await replication.backendProcessID)
        if state != .none, !links.now.hasToldOfStandby {
            links.note { $0.hasToldOfStandby = true }
            replicator.log.warning(
                "commits on the source may wait for this service as for a standby: name the standbys in "
                    + "synchronous_standby_names instead of '*'")
        }
        return state
    }
}
