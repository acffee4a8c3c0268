/// Tells any number of streams which tables a connection's commits changed.
final class SQLiteTableUpdates: Sendable {
    private struct State {
        var subscribers: [WeakMailbox] = []
        var isFinished = false
    }

    private struct WeakMailbox { weak var value: SQLiteTableMailbox? }

    /// The collector stays with the writer's thread.
    ///
    /// Safe because only work on the writing connection, which is serial, touches it.
    private final class Collector: @unchecked Sendable { var tables: SQLiteCommittedTables? }

    private let state = Monitor(State())
    private let collector = Collector()

    /// Starts collecting; called on the writer's thread.
    func observe(_ connection: SQLiteConnection) { collector.tables = SQLiteCommittedTables(of: connection) }

    /// Sends what was committed since the last call; called on the writer's thread.
    func send(of connection: SQLiteConnection) {
        guard let tables = collector.tables?.drain(), !tables.isEmpty else { return }
        let subscribers = state.change { state in
            state.subscribers.removeAll { $0.value == nil }
            return state.subscribers.compactMap(\.value)
        }
        for subscriber in subscribers { subscriber.put(tables) }
    }

    func stream() -> AsyncStream<Set<String>> {
        let mailbox = SQLiteTableMailbox()
        let isFinished = state.change { state in
            if !state.isFinished { state.subscribers.append(WeakMailbox(value: mailbox)) }
            return state.isFinished
        }
        if isFinished { mailbox.finish() }
        return AsyncStream(unfolding: { await mailbox.take() }, onCancel: { mailbox.finish() })
    }

    func finish() {
        let subscribers = state.change { state in
            state.isFinished = true
            defer { state.subscribers = [] }
            return state.subscribers.compactMap(\.value)
        }
        for subscriber in subscribers { subscriber.finish() }
    }
}

/// Table names for one consumer, merged while it is busy, so that the amount has a limit.
private final class SQLiteTableMailbox: Sendable {
    private struct State {
        var pending: Set<String> = []
        var waiter: CheckedContinuation<Set<String>?, Never>?
        var isFinished = false
    }

    private let state = Monitor(State())

    func put(_ tables: Set<String>) {
        let waiter = state.change { state -> CheckedContinuation<Set<String>?, Never>? in
            guard let waiter = state.waiter else {
                if !state.isFinished { state.pending.formUnion(tables) }
                return nil
            }
            state.waiter = nil
            return waiter
        }
        waiter?.resume(returning: tables)
    }

    func take() async -> Set<String>? {
        await withCheckedContinuation { continuation in
            let ready = state.change { state -> Set<String>?? in
                if !state.pending.isEmpty {
                    defer { state.pending = [] }
                    return .some(state.pending)
                }
                if state.isFinished || state.waiter != nil { return .some(nil) }
                state.waiter = continuation
                return nil
            }
            if let ready { continuation.resume(returning: ready) }
        }
    }

    func finish() {
        let waiter = state.change { state in
            state.isFinished = true
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: nil)
    }
}
