import PowerSyncSystem

/// A service that is measured, in a process of its own.
final class MeasuredService: Sendable {
    /// Where it listens on 127.0.0.1.
    let port: Int
    private let process: MeasuredProcess

    /// Starts a service and returns when it has a process.
    ///
    /// - Parameters:
    ///   - program: the path of `powersync-mock-service`.
    ///   - folder: has its configuration `service.json`; gets its log, and goes with it unless it is stopped otherwise.
    ///   - port: the port that the configuration names.
    ///   - poller: the poller of the program.
    /// - Throws: `SystemError`, `StackError`.
    init(_ program: String, in folder: String, port: Int, poller: Poller) async throws {
        self.port = port
        process = try await MeasuredProcess(
            "service", [program, "start", "-c", folder + "/service.json"], in: folder, poller: poller)
    }

    /// When it was started.
    var start: ContinuousClock.Instant { process.start }

    /// Requires that it has not ended by itself.
    ///
    /// - Throws: `StackError` with `.partEnded` and the end of its log.
    func requireLife() throws { try process.requireLife() }

    /// Returns how much memory it has, in megabytes of 1,048,576 bytes; nil elsewhere than on Linux.
    ///
    /// - Throws: `BenchmarkError` if its process is not there.
    func memory(_ figure: ProcessMemory.Figure) throws -> Double? { try process.memory(figure) }

    /// For how many seconds its threads had a processor so far; nil elsewhere than on Linux, or if it is gone.
    var processorTime: Double? { ProcessorTime.of(process.id) }

    /// Stops it in order, and returns when it has ended.
    ///
    /// - Parameter keepingState: whether its folder stays, so that it can be started again on its state.
    /// - Throws: `StackError` with `.file` if the folder cannot be marked.
    func stop(keepingState: Bool) async throws { try await process.stop(keepingFolder: keepingState) }

    /// Ends it, and removes its folder unless that is marked; again, it just waits.
    func end() async { await process.end() }
}
