import PowerSyncSystem

/// Runs what blocks on files: for small ones at once, for large ones on a thread of its own.
struct FileWork: Sendable {
    /// Up to how many bytes a file is small: what takes a moment on any disk.
    static let smallSize: Int64 = 1 << 20

    private let calls = BlockingCalls()

    /// Returns what a closure returns that reads or writes a file.
    ///
    /// - Parameters:
    ///   - bytes: about how many bytes it reads or writes.
    ///   - body: what is called; it must end soon once it is no longer wanted, and undo what it did.
    /// - Returns: its value.
    /// - Throws: what it throws, an error of the system as `PowerSyncAttachmentError` with `ioError`;
    ///   `CancellationError` at once when the task is cancelled.
    func run<Value: Sendable>(
        bytes: Int64, _ body: @escaping @Sendable (_ isWanted: () -> Bool) throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        do {
            guard bytes > Self.smallSize else { return try body { true } }
            return try await apart(body)
        } catch let error as SystemError {
            throw PowerSyncAttachmentError.ioError(error)
        }
    }

    /// Runs a closure on a thread of its own.
    private func apart<Value: Sendable>(
        _ body: @escaping @Sendable (_ isWanted: () -> Bool) throws -> Value
    ) async throws -> Value {
        let isLeft = Lock(false)
        return try await withTaskCancellationHandler {
            try await calls.value { () -> Result<Value, any Error> in
                do {
                    return .success(try body { isLeft.withLock { !$0 } })
                } catch {
                    return .failure(error)
                }
            }.get()
        } onCancel: {
            isLeft.withLock { $0 = true }
        }
    }
}
