import PowerSyncSystem

/// Gives access to the rows of one table of attachments.
public protocol AttachmentServiceProtocol: Sendable {
    /// Watches the rows in one of the three queued states: their ids, the oldest first.
    func watchActiveAttachments() async throws -> AsyncThrowingStream<[String], any Error>

    /// Runs a callback while nobody else of the queue changes rows; one after the other, in the order of the calls.
    ///
    /// Files go up and down meanwhile. A call inside the callback runs at once.
    func withContext<R: Sendable>(
        callback: @Sendable @escaping (AttachmentContext) async throws -> R
    ) async throws -> R
}

/// Gives access to the rows of one table of attachments, one caller at a time.
final class AttachmentService: AttachmentServiceProtocol {
    /// Somebody who has access.
    private final class Turn: Sendable {
        /// Those in which the task runs.
        @TaskLocal static var current: [Turn] = []

        let service: ObjectIdentifier
        private let isOver = Lock(false)

        init(of service: AttachmentService) { self.service = ObjectIdentifier(service) }

        /// Whether it lasts; a task that was begun in it may outlive it.
        var lasts: Bool { isOver.withLock { !$0 } }

        func end() { isOver.withLock { $0 = true } }
    }

    private let context: AttachmentContext
    private let lock = AsyncLock()

    init(_ context: AttachmentContext) { self.context = context }

    /// How many wait for access.
    var waiterCount: Int { lock.waiterCount }

    func watchActiveAttachments() async throws -> AsyncThrowingStream<[String], any Error> {
        let sql = AttachmentSQL(name: context.tableName)
        return try context.db.watch(sql.activeIDs) { try $0.getString(index: 0) }
    }

    /// Tells when rows have changed, and once at the beginning, whatever the number of the rows.
    func watchChanges() throws -> AsyncThrowingStream<[Int], any Error> {
        let sql = AttachmentSQL(name: context.tableName)
        // Without a throttle: each look is a statement that reads one row.
        return try context.db.watch(
            options: WatchOptions(sql: sql.changes, throttle: 0) { try $0.getInt(index: 0) })
    }

    func withContext<R: Sendable>(
        callback: @Sendable @escaping (AttachmentContext) async throws -> R
    ) async throws -> R {
        let turns = Turn.current
        if turns.contains(where: { $0.service == ObjectIdentifier(self) && $0.lasts }) {
            return try await callback(context)
        }
        return try await lock.withLock { [context] in
            let turn = Turn(of: self)
            defer { turn.end() }
            return try await Turn.$current.withValue(turns + [turn]) { try await callback(context) }
        }
    }
}
