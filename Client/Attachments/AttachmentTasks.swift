import PowerSyncSystem

/// The tasks of one run of a queue: begun and cancelled together, and waited for no longer than a moment.
///
/// What an adapter of the app does need not notice that it is cancelled. So the run is over when ``end()`` says so,
/// and what a task of it brings later counts for nothing.
final class AttachmentTasks: Sendable {
    /// How long tasks are waited for that are to end: `stopSyncing` returns within half a second.
    static let patience = Duration.milliseconds(400)

    private struct State {
        var isOver = false
        var tasks: [UInt64: Task<Void, Never>] = [:]
        var lastID: UInt64 = 0
    }

    private let state = Lock(State())
    /// How many tasks have not ended.
    private let living = AsyncValue(0)

    /// Whether the run is over.
    var isOver: Bool { state.withLock { $0.isOver } }

    /// Begins a task, unless the run is over.
    ///
    /// - Parameter body: what the task does.
    /// - Returns: what ``cancel(_:)`` takes; nil if the run is over.
    @discardableResult
    func begin(_ body: @escaping @Sendable () async -> Void) -> UInt64? {
        living.change { $0 += 1 }
        let id = state.withLock { state -> UInt64? in
            guard !state.isOver else { return nil }
            state.lastID += 1
            let id = state.lastID
            // It belongs to no call of the app in which it is begun, and outlives that.
            state.tasks[id] = Task.detached {
                await body()
                self.forget(id)
            }
            return id
        }
        if id == nil { living.change { $0 -= 1 } }
        return id
    }

    /// Cancels a task, if it has not ended.
    func cancel(_ id: UInt64) {
        state.withLock { $0.tasks[id] }?.cancel()
    }

    /// Ends the run: cancels all tasks, and lets none begin.
    func end() {
        let tasks = state.withLock { state in
            state.isOver = true
            return Array(state.tasks.values)
        }
        for task in tasks { task.cancel() }
    }

    /// Waits for the end of all tasks, but no longer than ``patience``; returns at once to who is cancelled.
    ///
    /// - Parameter environment: how to wait.
    /// - Returns: whether all have ended.
    @discardableResult
    func wait(_ environment: SyncEnvironment) async -> Bool {
        await withTaskGroup(of: Void.self) { [living] group in
            // Both are only cancelled here: what they throw then says nothing.
            group.addTask { _ = try? await living.wait { $0 == 0 } }
            group.addTask { try? await environment.sleep(Self.patience) }
            await group.next()
            group.cancelAll()
        }
        return living.current == 0
    }

    private func forget(_ id: UInt64) {
        state.withLock { $0.tasks[id] = nil }
        living.change { $0 -= 1 }
    }
}
