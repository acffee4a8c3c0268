import PowerSyncSystem

/// Notices what other processes write into a database file (client-api 2.10).
///
/// While somebody wants to know, a change of the file or of its write-ahead log leads to looks at the version that
/// SQLite counts. Commits of this process go through the connection that is asked, which does not count its own.
final class ExternalChanges: Sendable {
    /// The waits before the looks that follow a change: what is written into the log counts later, once the disk has it
    /// where its writer waits for that, and nothing tells when.
    static let gaps: [Duration] = [
        .milliseconds(20), .milliseconds(100), .seconds(1), .seconds(5), .seconds(30),
    ]

    /// Somebody who wants to know, for as long as it lives.
    final class Observation: Sendable {
        private let end: @Sendable () -> Void

        fileprivate init(end: @escaping @Sendable () -> Void) { self.end = end }

        deinit { end() }
    }

    /// The open database.
    struct Source: Sendable {
        /// Returns what SQLite counts; nil once the connections are gone.
        let version: @Sendable () async throws -> Int64?
        /// Called after another process has committed.
        let changed: @Sendable () async -> Void
        let environment: SyncEnvironment
        let log: SyncLog
    }

    private struct State {
        var observers = 0
        var source: Source?
        /// How often the database was opened: each time its connections count anew.
        var openings = 0
        var seen: Int64 = 0
        var following: Task<Void, Never>?
        var hasFailed = false
    }

    private let files: DatabaseFiles
    private let state = Lock(State())

    /// Makes what does nothing before somebody observes an open database.
    init(_ files: DatabaseFiles) {
        self.files = files
    }

    deinit { state.withLock { $0.following.take() }?.cancel() }

    /// Begins to look for changes, as long as what this returns is kept.
    ///
    /// What has changed since somebody looked last is told, too.
    func observe() -> Observation {
        change { $0.observers += 1 }
        return Observation { [weak self] in self?.change { $0.observers -= 1 } }
    }

    /// Begins with an open database.
    ///
    /// - Throws: what reading the version throws.
    func begin(_ source: Source) async throws {
        let version = try await source.version() ?? 0
        change { state in
            state.source = source
            state.openings += 1
            state.seen = version
            state.hasFailed = false
        }
    }

    /// Ends with the connections; call it before they are closed.
    func end() { change { $0.source = nil } }

    /// Changes the state; then there is a task that follows if, and only if, there is something to follow.
    private func change(_ body: (inout State) -> Void) {
        let ended = state.withLock { state -> Task<Void, Never>? in
            body(&state)
            guard let source = state.source, state.observers > 0 else { return state.following.take() }
            if state.following == nil {
                state.following = follow(source, opening: state.openings)
            }
            return nil
        }
        ended?.cancel()
    }

    private func follow(_ source: Source, opening: Int) -> Task<Void, Never> {
        Task { [weak self, files] in
            // Before the first look, so that no change falls between the two.
            let changes = files.changes(of: ["", "-wal"], environment: source.environment, log: source.log)
            // How many looks have followed the last change.
            var looks = 1
            do {
                while let isAnswered = await self?.look(source, opening) {
                    if !isAnswered { looks = min(looks, Self.gaps.count - 1) }
                    if !changes.isTold {
                        try await changes.next()
                    } else if looks == Self.gaps.count {
                        try await changes.next()
                        looks = 0
                    } else if try await changes.next(within: Self.gaps[looks]) {
                        looks = 0
                    }
                    if changes.isTold, looks == 0 {
                        try await source.environment.waitForFiles(Self.gaps[0])
                    }
                    looks += 1
                }
            } catch {
                // Cancelled: nobody wants to know any more, or the connections are about to be closed.
            }
        }
    }

    /// Looks once; returns whether there was an answer, nil once the connections are gone.
    private func look(_ source: Source, _ opening: Int) async -> Bool? {
        do {
            guard let version = try await source.version() else { return nil }
            let isNew = state.withLock { state -> Bool? in
                guard state.openings == opening else { return nil }
                // Two may look at once, and the older answer come last.
                defer { state.seen = max(state.seen, version) }
                return state.seen < version
            }
            if isNew == true { await source.changed() }
            return isNew.map { _ in true }
        } catch {
            if Task.isCancelled { return nil }
            let isFirst = state.withLock { state in
                defer { state.hasFailed = true }
                return !state.hasFailed
            }
            if isFirst {
                source.log(.warning, "Looking for changes of other processes failed, and goes on: \(error)")
            }
            return false
        }
    }
}
