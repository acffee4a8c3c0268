import CPowerSyncBenchmarks
import PowerSyncSystem

/// What sends uploads, and the programs in C that write the same rows, each on a thread of its own.
enum UploadThread {
    /// How long all requests of a run may take.
    private static let patience = Duration.seconds(600)

    /// What a run has taken.
    struct Run: Sendable {
        /// From before the first that is measured to the end of the last, in seconds.
        let seconds: Double
        /// The processor time of the thread meanwhile, in seconds.
        let processor: Double
        /// How long each request took that was measured, in seconds; none of a program in C.
        var latencies: [Double] = []
    }

    /// How a program in C writes rows.
    enum Way: Sendable {
        /// One upsert of arrays for each table.
        case arrays
        /// One upsert for each row, in the order of the rows.
        case rows
    }

    /// Sends uploads over connections that stay open, and requires that each is answered with 200.
    ///
    /// - Parameters:
    ///   - requests: the uploads, all of them added.
    ///   - warm: how many of each connection's are sent before all others, and not measured.
    ///   - port: where the backend listens on 127.0.0.1.
    /// - Returns: what it took.
    /// - Throws: `BenchmarkError`, `SystemError`.
    static func send(_ requests: UploadRequests, warm: Int, to port: Int) async throws -> Run {
        precondition(requests.isComplete, "there are as many requests as were announced")
        let outcome = Lock<Run?>(nil)
        try await LimitThread.stoppable { stop, error in
            let measured = requests.connections * max(0, requests.perConnection - warm)
            var latencies = [Double](repeating: 0, count: measured)
            var run = powersync_run()
            let status = requests.bytes.withUnsafeBufferPointer { bytes in
                requests.places.withUnsafeBufferPointer { places in
                    latencies.withUnsafeMutableBufferPointer { latencies in
                        var all = powersync_requests(
                            bytes: bytes.baseAddress, places: places.baseAddress,
                            connections: Int32(requests.connections),
                            requests: Int32(requests.perConnection), warm: Int32(warm))
                        return powersync_send_requests(
                            Int32(port), &all, stop, Int32(patience.components.seconds * 1000),
                            latencies.baseAddress, &run, error.baseAddress, error.count)
                    }
                }
            }
            let done = Run(seconds: run.seconds, processor: run.processor, latencies: latencies)
            outcome.withLock { $0 = done }
            return status
        }
        return try require(outcome)
    }

    /// Has a program in C write rows; its first transaction is not measured.
    ///
    /// - Parameters:
    ///   - rows: the rows of all transactions.
    ///   - transactions: how many there are, at least two, all of one size.
    ///   - tables: where they go.
    ///   - way: how.
    ///   - uri: the database.
    /// - Returns: what it took.
    /// - Throws: `BenchmarkError`, `SystemError`.
    static func write(
        _ rows: [UploadRow], transactions: Int, to tables: UploadTables, by way: Way, in uri: String
    ) async throws -> Run {
        let cells = CTexts(rows.flatMap(\.values))
        let statements = CTexts(way == .arrays ? tables.arrayUpserts : tables.rowUpserts)
        let (tableCount, rowCount) = (tables.names.count, rows.count / transactions)
        let outcome = Lock<Run?>(nil)
        try await LimitThread.stoppable { stop, error in
            var run = powersync_run()
            var uploads = powersync_uploads(
                statements: statements.pointer, tables: Int32(tableCount),
                columns: Int32(UploadTables.columns.count), rows: Int32(rowCount),
                transactions: Int32(transactions), cells: cells.pointer)
            // The texts must be there as long as the thread reads them.
            let status = withExtendedLifetime((statements, cells)) {
                switch way {
                case .arrays:
                    powersync_limit_upserts(uri, &uploads, stop, &run, error.baseAddress, error.count)
                case .rows: powersync_limit_rows(uri, &uploads, stop, &run, error.baseAddress, error.count)
                }
            }
            let done = Run(seconds: run.seconds, processor: run.processor)
            outcome.withLock { $0 = done }
            return status
        }
        return try require(outcome)
    }

    private static func require(_ outcome: Lock<Run?>) throws -> Run {
        guard let run = outcome.withLock({ $0 }) else { throw BenchmarkError("a thread has said nothing") }
        return run
    }
}
