import CPowerSyncSQLite
import PowerSyncSystem

/// Copies the write-ahead log of a database into its file, on a connection and a thread of its own.
///
/// SQLite by itself does so in every commit that finds a thousand pages in the log: while much is stored that is nearly
/// every commit, each of which then writes pages all over the file and waits twice for the disk. Here such a commit only
/// wakes the thread, which is started the first time.
///
/// SQLite begins the log anew with a transaction that finds all of it in the file. While one commit follows the other the
/// thread never gets so far, so where the log is long the writer copies what is left, if that is little. Whoever writes
/// much lets it become little between two transactions (`SQLitePool.shortenLog`); the log of others may become twice as
/// long. (sqlite.org/wal.html, "Checkpointing" and "Avoiding Excessively Large WAL Files")
final class WALCheckpointer: Sendable {
    /// When the log is copied.
    struct Limits: Sendable {
        /// Behind how many pages that are not in the file; as many as SQLite allows by itself.
        var pages = 1000
        /// From how many pages in the log on it is to begin anew: 256 MB, if they have the usual size.
        var longLog = 65_536
        /// How many pages are little enough for the writer: 4 MB, if they have the usual size.
        var rest = 1000
        /// From how many pages in the log on its file is worth cutting once nothing is written: 16 MB, if they have the
        /// usual size.
        var cut = 4096
        /// From how many pages in the log on the writer copies all that is left.
        var longestLog: Int { 2 * longLog }

        /// Makes limits for a log that is to begin anew from so many bytes on.
        ///
        /// As many as usual are copied at a time, or a part of the log where it is to stay shorter than that.
        static func forLog(of bytes: Int) -> Limits {
            let longLog = max(8, bytes / 4096)
            return Limits(
                pages: min(1000, longLog / 4), longLog: longLog, rest: min(1000, longLog / 8),
                cut: min(4096, longLog / 2))
        }

        /// Returns limits of as many bytes for pages of another size than 4 KiB.
        func scaled(toPagesOf size: Int) -> Limits {
            Limits(
                pages: pages, longLog: longLog * 4096 / size, rest: rest * 4096 / size, cut: cut * 4096 / size
            )
        }
    }

    /// How often the log was copied: what tests count instead of time.
    struct Counts: Equatable, Sendable {
        var byThread = 0
        var byWriter = 0
    }

    private enum Stage {
        /// Nothing was to be copied so far.
        case new
        /// The thread waits, or works if it is said to.
        case started
        /// There is no thread: the writer copies once, and behind the next pages a thread is started again.
        case failed
        case closing
        case closed
    }

    private struct Waiter {
        let id: Int
        /// The round of the thread that has to be over.
        let round: Int
        let continuation: Resumption<Void, any Error>
    }

    private struct State {
        var limits: Limits
        var stage = Stage.new
        var isWanted = false
        var isWorking = false
        /// The pages in the log at the last commit.
        var log = 0
        /// How often the log has begun anew.
        var beginnings = 0
        /// How many pages of the log were in the file as well when that was last seen.
        var copied = 0
        /// The pages that were in the log when somebody last set about copying it; a reader may have kept them there.
        var tried = 0
        var counts = Counts()
        var waiters: [Waiter] = []
        /// The id of who came last.
        var lastWaiter = 0
        /// How many let the log become short, who copy the rest themselves.
        var shortening = 0
        /// The limit of the file's size (`PRAGMA journal_size_limit`) while that is set aside.
        var fileLimit: Int64?

        /// How many pages are in the log alone, or may be.
        var rest: Int { log - copied }

        /// Notes how long the log is behind a commit.
        mutating func note(log pages: Int) {
            if pages < log {
                beginnings += 1
                copied = 0
                tried = 0
            }
            log = pages
        }

        /// Notes how many pages are in the file, unless the log in which they were counted has begun anew.
        mutating func note(copied pages: Int?, from beginning: Int) {
            guard let pages, beginning == beginnings else { return }
            copied = pages
        }

        /// Takes those who wait for a round that is over, or for one that does not come.
        mutating func takeWaiters() -> [Waiter] {
            let isOver = stage != .started
            defer { waiters.removeAll { isOver || $0.round <= counts.byThread } }
            return waiters.filter { isOver || $0.round <= counts.byThread }
        }

        /// Takes one who does not wait any longer; nil if it has gone on.
        mutating func takeWaiter(_ id: Int) -> Waiter? {
            waiters.firstIndex { $0.id == id }.map { waiters.remove(at: $0) }
        }
    }

    private enum Work { case none, wake, start, copyHere }

    /// How long the thread, as it begins, waits for another process that holds the file for a moment.
    private static let busyTimeout = Duration.seconds(5)

    private let state: Monitor<State>
    private let beforeEach: @Sendable () -> Void
    private let onFailure: @Sendable (WALFailure) -> Void

    /// Makes one that has no thread yet.
    ///
    /// - Parameters:
    ///   - limits: When the log is copied, for pages of 4 KiB.
    ///   - beforeEach: Runs on the thread before it copies; may block.
    ///   - onFailure: Gets why the log could not be copied, which is tried again behind the next pages; must not block.
    init(
        limits: Limits = Limits(), beforeEach: @escaping @Sendable () -> Void = {},
        onFailure: @escaping @Sendable (WALFailure) -> Void
    ) {
        state = Monitor(State(limits: limits))
        self.beforeEach = beforeEach
        self.onFailure = onFailure
    }

    var counts: Counts { state.change(waking: .nobody) { $0.counts } }

    /// Whether somebody waits for the thread to end.
    var isClosing: Bool { state.change(waking: .nobody) { $0.stage == .closing } }

    /// Whether the thread copies.
    var isWorking: Bool { state.change(waking: .nobody) { $0.isWorking } }

    /// How many wait for the thread.
    var waiting: Int { state.change(waking: .nobody) { $0.waiters.count } }

    /// How many let the log become short, those that wait for it included.
    var shortening: Int { state.change(waking: .nobody) { $0.shortening } }

    /// Takes the work over from the commits of a connection, unless somebody has set how often they do it.
    ///
    /// - Parameter connection: The only one that writes; `end` comes before it is closed.
    /// - Throws: SQLite's error.
    func relieve(_ connection: SQLiteConnection) throws {
        let mode = try connection.one("PRAGMA journal_mode") { $0.string(0) }
        let interval = try connection.one("PRAGMA wal_autocheckpoint") { $0.int64(0) }
        guard mode == "wal", interval == 1000 else { return }
        let pageSize = try connection.one("PRAGMA page_size") { Int($0.int64(0)) } ?? 4096
        state.change(waking: .nobody) { $0.limits = $0.limits.scaled(toPagesOf: pageSize) }
        // Safe because whoever ends this keeps it until then, and nothing is committed afterwards.
        sqlite3_wal_hook(
            connection.pointer,
            { context, connection, name, pages in
                guard let context, let connection, let name else { return SQLITE_OK }
                let checkpointer = Unmanaged<WALCheckpointer>.fromOpaque(context).takeUnretainedValue()
                if String(cString: name) == "main" {
                    checkpointer.committed(Int(pages), on: connection)
                } else if pages >= 1000 {
                    // An attached database: as SQLite does it by itself.
                    sqlite3_wal_checkpoint_v2(connection, name, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
                }
                return SQLITE_OK
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Whether the log is so long that it should begin anew, and no reader has kept much of it the last time.
    var isLong: Bool {
        state.change(waking: .nobody) { state in
            state.stage == .started && state.log >= state.limits.longLog
                && (state.isWorking || state.tried - state.copied <= state.limits.rest)
        }
    }

    /// Whether the log, or its file, is so long that somebody who cuts it saves the next writer from doing it, and no
    /// reader has kept much of it the last time.
    var isWorthCutting: Bool {
        state.change(waking: .nobody) { state in
            state.stage == .started && (state.fileLimit != nil || state.log >= state.limits.cut)
                && (state.isWorking || state.tried - state.copied <= state.limits.rest)
        }
    }

    /// Lets the log begin anew without having its file cut, which takes as long as many commits, until it is truncated; unless
    /// a reader has made it longer than it becomes without one.
    ///
    /// - Parameter connection: The one that writes.
    /// - Throws: SQLite's error.
    func keepFile(on connection: SQLiteConnection) throws {
        guard state.change(waking: .nobody, { $0.fileLimit == nil }) else { return }
        guard let limit = try connection.one("PRAGMA journal_size_limit", [], { $0.int64(0) }), limit >= 0
        else {
            return
        }
        let pageSize = try connection.one("PRAGMA page_size", [], { $0.int64(0) }) ?? 4096
        // A page in the log has a head of 24 bytes, and the log one of 32 (sqlite.org/fileformat2.html, 4).
        let longest = state.change(waking: .nobody) { Int64($0.limits.longestLog) } * (pageSize + 24) + 32
        guard longest > limit else { return }
        try connection.execute("PRAGMA journal_size_limit = \(longest)")
        state.change(waking: .nobody) { $0.fileLimit = limit }
    }

    /// Waits until the thread has copied all that is in the log now.
    ///
    /// ``copyRest(on:)`` or ``leaveRest()`` has to follow, that one also if this throws.
    ///
    /// - Throws: `CancellationError` at once when the task is cancelled; the thread goes on.
    func copyAll() async throws {
        let id = state.change(waking: .nobody) { state in
            state.shortening += 1
            state.lastWaiter += 1
            return state.lastWaiter
        }
        try await withTaskCancellationHandler {
            try await withThrowingResumption {
                (continuation: Resumption<Void, any Error>) in
                let end: Result<Void, any Error>? = state.change(waking: .everybody) { state in
                    // Whoever is cancelled from here on is found among those who wait.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    guard state.stage == .started else { return .success(()) }
                    state.isWanted = true
                    state.waiters.append(
                        Waiter(id: id, round: state.counts.byThread + 1, continuation: continuation))
                    return nil
                }
                if let end { continuation.resume(with: end) }
            }
        } onCancel: {
            let waiter = state.change(waking: .nobody) { $0.takeWaiter(id) }
            waiter?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Copies what is left of a long log if that is little, so that the next transaction begins it anew.
    ///
    /// - Parameter connection: The one that writes.
    func copyRest(on connection: SQLiteConnection) {
        let isLittle = state.change(waking: .nobody) { state in
            state.shortening -= 1
            guard state.stage == .started, !state.isWorking, state.log >= state.limits.longLog,
                state.rest > 0, state.rest <= state.limits.rest
            else { return false }
            begin(&state)
            return true
        }
        if isLittle { copyHere(on: connection.pointer) }
    }

    /// Leaves the rest to the commits of others, where ``copyRest(on:)`` cannot follow.
    func leaveRest() { state.change(waking: .nobody) { $0.shortening -= 1 } }

    /// Copies all of the log and cuts its file to nothing, unless somebody still needs it, who is not waited for.
    ///
    /// - Parameter connection: The one that writes, outside of a transaction.
    /// - Returns: Whether there is nothing in the log now.
    /// - Throws: SQLite's error.
    func truncate(on connection: SQLiteConnection) throws -> Bool {
        let timeout = try connection.one("PRAGMA busy_timeout") { $0.int64(0) } ?? 0
        // A checkpoint of this kind waits for readers as long as the connection waits for locks.
        sqlite3_busy_timeout(connection.pointer, 0)
        defer { sqlite3_busy_timeout(connection.pointer, Int32(clamping: timeout)) }
        if let limit = state.change(waking: .nobody, { $0.fileLimit }) {
            try connection.execute("PRAGMA journal_size_limit = \(limit)")
            state.change(waking: .nobody) { $0.fileLimit = nil }
        }
        var copied: Int32 = -1
        let result = sqlite3_wal_checkpoint_v2(
            connection.pointer, "main", SQLITE_CHECKPOINT_TRUNCATE, nil, &copied)
        switch result & 0xff {
        case SQLITE_OK:
            state.change(waking: .nobody) { $0.note(log: 0) }
            return true
        case SQLITE_BUSY:
            state.change(waking: .nobody) { state in
                state.note(copied: copied < 0 ? nil : Int(copied), from: state.beginnings)
            }
            return false
        default:
            throw SQLiteError.last(connection.pointer, result: result)
        }
    }

    /// Ends the thread after what it is doing; blocks until its connection is closed.
    func end() {
        let waiters = state.change(waking: .everybody) { state in
            switch state.stage {
            case .new, .failed, .closed: state.stage = .closed
            case .started, .closing: state.stage = .closing
            }
            return state.takeWaiters()
        }
        for waiter in waiters { waiter.continuation.resume() }
        state.wait { $0.stage == .closed ? () : nil }
    }

    /// Looks behind a commit whether there is enough to be copied, on the thread of the writer.
    private func committed(_ pages: Int, on connection: OpaquePointer) {
        switch state.change(waking: .nobody, { work(&$0, pages) }) {
        case .none: break
        case .wake: state.change(waking: .everybody) { $0.isWanted = true }
        case .start: start(at: sqlite3_db_filename(connection, "main").map { String(cString: $0) } ?? "")
        case .copyHere: copyHere(on: connection)
        }
    }

    private func work(_ state: inout State, _ pages: Int) -> Work {
        state.note(log: pages)
        // Where a reader keeps the log, each commit would try in vain.
        let isDue = pages - state.tried >= state.limits.pages
        switch state.stage {
        case .closing, .closed: return .none
        case .new:
            guard isDue else { return .none }
            state.stage = .started
            state.isWanted = true
            return .start
        case .failed:
            guard isDue else { return .none }
            state.stage = .new
        case .started:
            if pages < state.limits.longLog { return isDue && !state.isWanted ? .wake : .none }
            // Two at once are one too many, and between two rounds of the thread a commit may see that little is left.
            guard !state.isWorking else { return .none }
            let isLittle = state.rest <= state.limits.rest && state.shortening == 0
            guard isLittle || isDue && pages >= state.limits.longestLog else {
                return isDue && !state.isWanted ? .wake : .none
            }
        }
        begin(&state)
        return .copyHere
    }

    /// Notes that the writer sets about copying all that is in the log.
    private func begin(_ state: inout State) {
        state.isWanted = !state.waiters.isEmpty
        state.tried = state.log
        state.counts.byWriter += 1
    }

    /// Copies on the thread of the writer, which alone has a log begin anew.
    private func copyHere(on connection: OpaquePointer) {
        let copied = copy(on: connection)
        state.change(waking: .nobody) { $0.note(copied: copied, from: $0.beginnings) }
    }

    private func start(at path: String) {
        do {
            try DetachedThread.start { self.run(path) }
        } catch {
            fail(SQLiteError(code: .internal, message: "no thread for the log of the database: \(error)"))
        }
    }

    private func run(_ path: String) {
        do {
            // Not made anew if it has been taken away meanwhile.
            let connection = try SQLiteConnection(path: path, flags: .readWrite)
            connection.setBusyTimeout(Self.busyTimeout)
            // Before it has read something a connection does not know of the log, and copies nothing.
            try connection.run("PRAGMA schema_version")
            while let beginning = nextRound() {
                beforeEach()
                let copied = copy(on: connection.pointer)
                let waiters = state.change(waking: .nobody) { state in
                    state.note(copied: copied, from: beginning)
                    state.isWorking = false
                    return state.takeWaiters()
                }
                for waiter in waiters { waiter.continuation.resume() }
            }
            connection.close()
            state.change(waking: .everybody) { $0.stage = .closed }
        } catch {
            fail(error)
        }
    }

    /// Blocks until there is something to be copied; returns how often the log had begun anew, nil once this is to end.
    private func nextRound() -> Int? {
        state.wait { state -> Int?? in
            if state.stage == .closing { return .some(nil) }
            guard state.isWanted else { return nil }
            state.isWanted = false
            state.isWorking = true
            state.tried = state.log
            state.counts.byThread += 1
            return .some(state.beginnings)
        }
    }

    /// Leaves the work to the writer for now.
    private func fail(_ error: SQLiteError) {
        let waiters = state.change(waking: .everybody) { state in
            state.stage = state.stage == .closing ? .closed : .failed
            state.tried = 0
            return state.takeWaiters()
        }
        for waiter in waiters { waiter.continuation.resume() }
        onFailure(WALFailure(error: error, isCopiedByWriter: true))
    }

    /// Copies what no reader still needs elsewhere, without waiting for anybody.
    ///
    /// - Returns: How many pages of the log are in the file then; nil if that is not known.
    private func copy(on connection: OpaquePointer) -> Int? {
        var copied: Int32 = -1
        let result = sqlite3_wal_checkpoint_v2(
            connection, "main", SQLITE_CHECKPOINT_PASSIVE, nil, &copied)
        // Another process may be at it.
        if result != SQLITE_OK, result & 0xff != SQLITE_BUSY {
            onFailure(WALFailure(error: .last(connection, result: result), isCopiedByWriter: false))
        }
        return copied < 0 ? nil : Int(copied)
    }
}
