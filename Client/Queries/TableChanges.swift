import PowerSyncSystem

/// Tells everybody who watches one database instance which tables have changed.
final class TableChanges: Sendable {
    /// Stands for "something changed elsewhere, tables unknown".
    static let external = "__powersync_external_changes__"
    /// Stands for "the schema was replaced": what a query reads has to be found out again.
    static let schema = "__powersync_schema_changed__"

    private struct State {
        var mailboxes: [WeakMailbox] = []
        var isFinished = false
    }

    private struct WeakMailbox {
        weak var value: TableChangeMailbox?
    }

    private let state = Lock(State())

    /// How many watch.
    var watcherCount: Int {
        state.withLock { $0.mailboxes.count { $0.value != nil } }
    }

    /// How many watches have taken all that they were told, and wait for more.
    var waitingCount: Int {
        state.withLock { $0.mailboxes.count { $0.value?.isWaitedFor == true } }
    }

    /// Returns a mailbox that gets everything from now on, for as long as somebody holds it.
    func mailbox() -> TableChangeMailbox {
        let mailbox = TableChangeMailbox()
        let isFinished = state.withLock { state in
            state.mailboxes.removeAll { $0.value == nil }
            if !state.isFinished { state.mailboxes.append(WeakMailbox(value: mailbox)) }
            return state.isFinished
        }
        if isFinished { mailbox.finish() }
        return mailbox
    }

    /// Tells a set of names, or markers.
    func send(_ tables: Set<String>) {
        let mailboxes = state.withLock { $0.mailboxes.compactMap(\.value) }
        for mailbox in mailboxes { mailbox.put(tables) }
    }

    /// Ends all mailboxes.
    func finish() {
        let mailboxes = state.withLock { state in
            state.isFinished = true
            defer { state.mailboxes = [] }
            return state.mailboxes.compactMap(\.value)
        }
        for mailbox in mailboxes { mailbox.finish() }
    }
}

/// Table names for one watcher, merged until it takes them: it holds each name once, so it is bounded.
final class TableChangeMailbox: Sendable {
    private struct State {
        var pending: Set<String> = []
        var waiter: Resumption<Set<String>?, any Error>?
        var isFinished = false
    }

    private let state = Lock(State())
    /// Raised when no more names come.
    let ended = AsyncFlag()

    /// Whether no more names come.
    var isFinished: Bool { state.withLock { $0.isFinished } }

    /// Whether somebody waits for names.
    var isWaitedFor: Bool { state.withLock { $0.waiter != nil } }

    /// Waits for names and takes them all; nil once the database is closed.
    ///
    /// - Throws: `CancellationError`; what has arrived stays then.
    func next() async throws -> Set<String>? {
        try await withTaskCancellationHandler {
            try await withThrowingResumption { continuation in
                let known: Result<Set<String>?, any Error>? = state.withLock { state in
                    // The handler of a task that is cancelled already has run, and found nobody to wake.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.isFinished { return .success(nil) }
                    if !state.pending.isEmpty {
                        defer { state.pending = [] }
                        return .success(state.pending)
                    }
                    precondition(state.waiter == nil, "a mailbox is emptied by one task at a time")
                    state.waiter = continuation
                    return nil
                }
                if let known { continuation.resume(with: known) }
            }
        } onCancel: {
            state.withLock { $0.waiter.take() }?.resume(throwing: CancellationError())
        }
    }

    /// Takes what is there without waiting.
    func drain() -> Set<String> {
        state.withLock { state in
            defer { state.pending = [] }
            return state.pending
        }
    }

    func put(_ tables: Set<String>) {
        let waiter = state.withLock { state in
            let waiter = state.waiter.take()
            if waiter == nil { state.pending.formUnion(tables) }
            return waiter
        }
        waiter?.resume(returning: tables)
    }

    func finish() {
        let waiter = state.withLock { state in
            state.isFinished = true
            return state.waiter.take()
        }
        ended.raise()
        waiter?.resume(returning: nil)
    }
}
