import PowerSyncSystem

/// Gives access to the rows of one table of attachments.
public protocol AttachmentServiceProtocol: Sendable {
    /// Watches the rows in one of the three queued states: their ids, the oldest first.
    func watchActiveAttachments() async throws -> AsyncThrowingStream<[String], any Error>

    /// Runs a callback while nobody else of the queue changes rows; one after the other, in the order of the calls.
    ///
    /// Files go up and down meanwhile. A call inside the callback runs at once, but for what waits for others of the queue:
    /// ``AttachmentQueue/syncStorage()`` and ``AttachmentQueue/waitForInit()`` would never return there.
    func withContext<R: Sendable>(
        callback: @Sendable @escaping (AttachmentContext) async throws -> R
    ) async throws -> R
}

/// Gives access to the rows of one table of attachments, one caller at a time.
final class AttachmentService: AttachmentServiceProtocol {
    /// Somebody who has access.
    private final class Turn: Sendable {
        private struct State: Sendable {
            var isOver = false
            /// How many calls are under way that have come in it, also of tasks that were begun in it.
            var calls = 0
        }

        /// Those in which the task runs.
        @TaskLocal static var current: [Turn] = []

        let service: ObjectIdentifier
        private let state = AsyncValue(State())

        init(of service: AttachmentService) { self.service = ObjectIdentifier(service) }

        /// Lets a call in, if the turn lasts; a task that was begun in it may outlive it.
        func enter() -> Bool {
            state.change { state in
                if !state.isOver { state.calls += 1 }
                return !state.isOver
            }
        }

        /// Ends a call that was let in.
        func leave() { state.change { $0.calls -= 1 } }

        /// Ends the turn, and returns when the calls are over that were let in.
        func end() async {
            state.change { $0.isOver = true }
            guard state.current.calls > 0 else { return }
            // Shielded: also who is cancelled may not let others in before. Nobody cancels this task.
            await Task { [state] in _ = try? await state.wait { $0.calls == 0 } }.value
        }
    }

    private let context: AttachmentContext
    /// The place of whoever changes rows.
    private let place = TaskPlaces(TaskPlaces.Limits(active: 1))

    init(_ context: AttachmentContext) { self.context = context }

    /// How many wait for access.
    var waiterCount: Int { place.counts.waiting }

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
        if let turn = turns.first(where: { $0.service == ObjectIdentifier(self) && $0.enter() }) {
            defer { turn.leave() }
            return try await run(callback, turns)
        }
        return try await place.run { try await run(callback, turns) }
    }

    /// Runs a callback in a turn of its own: what it calls in turn is let in as long as it lasts.
    private func run<R: Sendable>(
        _ callback: @Sendable (AttachmentContext) async throws -> R, _ turns: [Turn]
    ) async throws -> R {
        let turn = Turn(of: self)
        let result: Result<R, any Error>
        do {
            result = .success(
                try await Turn.$current.withValue(turns + [turn]) { try await callback(context) })
        } catch {
            result = .failure(error)
        }
        await turn.end()
        return try result.get()
    }
}
