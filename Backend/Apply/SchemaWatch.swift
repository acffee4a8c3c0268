import PowerSyncCommandLine
import PowerSyncPostgres
import PowerSyncSystem

/// The tables that uploads may write, kept up to date while the database changes under the backend.
package actor SchemaWatch {
    /// Where the tables come from.
    package enum Source: Sendable {
        /// A table map and the name of its file.
        case map(TableMap, name: String)
        /// The publication, for development.
        case open
    }

    /// The tables as they are known now.
    package private(set) var tables = UploadTables()
    private let source: Source
    private let pool: PostgresPool
    private let poller: Poller
    private let log: Log
    private var lastReading: ContinuousClock.Instant?
    private var reading: Task<Void, Never>?
    private var drifts: [String: ContinuousClock.Instant] = [:]

    /// Makes a watch that knows no table yet.
    package init(source: Source, pool: PostgresPool, poller: Poller, log: Log) {
        self.source = source
        self.pool = pool
        self.poller = poller
        self.log = log
    }

    /// Reads the catalog and checks the map against it.
    ///
    /// - Throws: `BackendError` if the map names what is not there, `PostgresError`.
    package func load() async throws {
        tables = try await resolved()
        lastReading = .now
        for warning in tables.warnings { log.warning("open schema", ["backend.warning": warning]) }
    }

    /// Reads the catalog again, at most ten times a second: a name may be new.
    ///
    /// It returns with a reading that began after the call, so that a name is never refused by what was true
    /// before. A catalog that lacks what was there is not taken over: in the middle of a migration that would
    /// reject good writes (backend 3.1).
    ///
    /// - Returns: whether the tables are different now.
    package func refresh() async -> Bool {
        let (before, call) = (tables, ContinuousClock.now)
        if let lastReading {
            // Cancelled, it reads a little early.
            try? await poller.sleep(until: lastReading + .milliseconds(100))
        }
        if (lastReading ?? .now) < call { await reading?.value }
        // Whoever waited beside us may have begun a reading that serves both.
        if (lastReading ?? call) <= call {
            lastReading = .now
            reading = Task { await self.read() }
        }
        await reading?.value
        return tables != before
    }

    private func read() async {
        do {
            let now = try await resolved()
            if now.covers(tables) { tables = now }
        } catch {
            log.warning("catalog not read again", ["error": "\(error)"])
        }
    }

    /// Whether a table or column has been missing for longer than a migration may take.
    ///
    /// - Parameters:
    ///   - name: of what is missing.
    ///   - grace: how long that may last.
    /// - Returns: true once the grace is over.
    package func isMissingForGood(_ name: String, grace: Duration) -> Bool {
        let now = ContinuousClock.now
        drifts = drifts.filter { now - $0.value < grace * 2 }
        if drifts.count >= 1_000 { drifts.removeAll() }
        guard let since = drifts[name] else {
            drifts[name] = now
            return grace <= .zero
        }
        return now - since >= grace
    }

    private func resolved() async throws -> UploadTables {
        let catalog = try await pool.withConnection { try await Catalog(reading: $0) }
        switch source {
        case .map(let map, let name): return try UploadTables(map: map, source: name, catalog: catalog)
        case .open: return try UploadTables(openSchemaOf: catalog)
        }
    }
}
