import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// One run of a command that opens things which must be closed however it ends.
package final class Session: Sendable {
    private typealias Closer = @Sendable () async throws -> Void

    private let closers = Lock<[Closer]>([])

    private init() {}

    /// Remembers how to close something; the last is closed first.
    package func onEnd(_ close: @escaping @Sendable () async throws -> Void) {
        closers.withLock { $0.append(close) }
    }

    /// Runs `body` until it ends or somebody asks the program to stop, then closes everything.
    ///
    /// Closing happens outside of the cancelled task, so that it may wait and ask a database. A second signal ends
    /// the program at once; the life-lines clean up then.
    ///
    /// - Parameters:
    ///   - signals: the signals that ask to stop.
    ///   - body: the run; it is cancelled when a signal comes.
    /// - Returns: what `body` returns; nil if a signal came first.
    /// - Throws: what `body` throws, else the first error of closing.
    package static func run<Result: Sendable>(
        until signals: AsyncStream<Int32>, _ body: @escaping @Sendable (Session) async throws -> Result
    ) async throws -> Result? {
        let session = Session()
        let outcome: Swift.Result<Result?, any Error> = await withTaskGroup(
            of: Swift.Result<Result?, any Error>.self
        ) { group in
            group.addTask {
                do {
                    let result = try await body(session)
                    return .success(result)
                } catch {
                    return .failure(error)
                }
            }
            group.addTask {
                for await _ in signals { return .success(nil) }
                return .failure(CancellationError())
            }
            guard let first = await group.next() else { return .failure(CancellationError()) }
            group.cancelAll()
            await group.waitForAll()
            return first
        }
        let closing: Swift.Result<Void, any Error> = await withTaskGroup(
            of: Swift.Result<Void, any Error>.self
        ) { group in
            group.addTask { await session.closeAll() }
            group.addTask {
                for await signal in signals { _exit(128 + signal) }
                return .success(())
            }
            guard let first = await group.next() else { return .success(()) }
            group.cancelAll()
            return first
        }
        let result = try outcome.get()
        try closing.get()
        return result
    }

    private func closeAll() async -> Swift.Result<Void, any Error> {
        var result: Swift.Result<Void, any Error> = .success(())
        while let closer = closers.withLock({ $0.popLast() }) {
            do {
                try await closer()
            } catch {
                if case .success = result { result = .failure(error) }
            }
        }
        return result
    }
}

extension Session {
    /// Makes a temporary folder that goes with the session, and with the process if it is killed.
    ///
    /// - Returns: its path.
    /// - Throws: `SystemError`.
    package func temporaryFolder() throws -> String {
        let folder = try TemporaryDirectory(prefix: "powersync-stack-")
        let watcher = try LifeLine.guardFolder(folder.path)
        onEnd {
            folder.remove()
            if let lifeLine = watcher.input { close(lifeLine) }
            _ = await watcher.wait()
        }
        return folder.path
    }

    /// Makes a poller that ends with the session.
    ///
    /// - Returns: the poller.
    /// - Throws: `SystemError`.
    package func poller() throws -> Poller {
        let poller = try Poller()
        onEnd { poller.stop() }
        return poller
    }
}
