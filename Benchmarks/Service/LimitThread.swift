import CPowerSyncBenchmarks
import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The limits in C, each on a thread of its own.
enum LimitThread {
    /// How long a line of an error may be.
    private static let errorRoom = 512

    /// Stores all rows of the table items in a new file.
    ///
    /// - Parameters:
    ///   - uri: the database.
    ///   - path: the file.
    /// - Returns: how many rows there were, and how long that took from before connecting to the last sync.
    /// - Throws: `BenchmarkError`, or `SystemError` without a thread.
    static func store(_ uri: String, at path: String) async throws -> (rows: Int, time: Duration) {
        let outcome = Lock<(rows: Int64, time: Duration)>((0, .zero))
        try await run { error in
            var rows: Int64 = 0
            let start = ContinuousClock.now
            let status = powersync_limit_store(uri, path, &rows, error.baseAddress, error.count)
            let (count, time) = (rows, ContinuousClock.now - start)
            outcome.withLock { $0 = (count, time) }
            return status
        }
        let (rows, time) = outcome.withLock { $0 }
        return (Int(rows), time)
    }

    /// Forwards what is inserted into the table items to one client, as long as `body` runs.
    ///
    /// - Parameters:
    ///   - uri: the database, with the publication `powersync`.
    ///   - path: the file in which it stores what it forwards; there is none yet.
    ///   - body: gets the port at which the client opens its stream; cancelled when forwarding fails.
    /// - Returns: what `body` returns.
    /// - Throws: `BenchmarkError` of the thread, `SystemError`, what `body` throws.
    static func forward<Value: Sendable>(
        _ uri: String, at path: String, while body: @escaping @Sendable (Int) async throws -> Value
    ) async throws -> Value {
        let (listener, port) = try TCPSocket.listen()
        defer { close(listener) }
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw SystemError(.process, "cannot make a pipe", errno: errno) }
        let (stop, cutting) = (ends[0], ends[1])
        defer { close(stop) }
        return try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask {
                // The end of the pipe ends the thread, whatever came of the measure.
                defer { close(cutting) }
                return try await body(port)
            }
            group.addTask {
                try await run { error in
                    powersync_limit_forward(uri, path, listener, stop, error.baseAddress, error.count)
                }
                return nil
            }
            var value: Value?
            while let ended = try await group.next() { value = ended ?? value }
            guard let value else { throw CancellationError() }
            return value
        }
    }

    /// Runs a function of C that blocks until it is done, or until the task is cancelled.
    ///
    /// - Parameter body: gets the reading end of a pipe, which hangs up when all shall end, and the buffer for its
    ///   error; returns the status of the function.
    /// - Throws: `BenchmarkError` of the function, also where it was ended; `SystemError` without a pipe or a thread.
    static func stoppable(
        _ body: @escaping @Sendable (_ stop: Int32, _ error: UnsafeMutableBufferPointer<CChar>) -> Int32
    ) async throws {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw SystemError(.process, "cannot make a pipe", errno: errno) }
        let stop = ends[0]
        let cutting = Lock<Int32?>(ends[1])
        let cut: @Sendable () -> Void = {
            cutting.withLock { descriptor in
                if let open = descriptor { close(open) }
                descriptor = nil
            }
        }
        defer {
            cut()
            close(stop)
        }
        try await withTaskCancellationHandler {
            try await run { body(stop, $0) }
        } onCancel: {
            cut()
        }
    }

    /// Runs a function of C that blocks; it gets the buffer for its error.
    private static func run(
        _ body: @escaping @Sendable (UnsafeMutableBufferPointer<CChar>) -> Int32
    ) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            do {
                try DetachedThread.start {
                    var error = [CChar](repeating: 0, count: errorRoom)
                    let status = error.withUnsafeMutableBufferPointer { body($0) }
                    guard status != 0 else { return continuation.resume() }
                    let text = error.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
                    continuation.resume(throwing: BenchmarkError(String(decoding: text, as: UTF8.self)))
                }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }
}
