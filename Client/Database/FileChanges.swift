import PowerSyncSystem

/// Tells when files may have changed: at once where the system tells, otherwise once a second (client-api 2.10).
final class FileChanges: Sendable {
    /// How often there may have been a change where the system does not tell.
    static let interval = Duration.seconds(1)

    private let changed: AsyncFlag
    private let watch: FileWatcher.Watch?
    private let sleep: @Sendable (Duration) async throws -> Void

    /// Begins to take note of changes.
    ///
    /// - Parameters:
    ///   - names: the names of the files.
    ///   - folder: where they lie.
    ///   - watcher: what asks the system.
    ///   - environment: how to wait.
    ///   - refused: called if the system refuses.
    init(
        of names: Set<String>, in folder: String, _ watcher: FileWatcher, environment: SyncEnvironment,
        refused: (SystemError) -> Void
    ) {
        let changed = AsyncFlag()
        self.changed = changed
        sleep = environment.waitForFiles
        do throws(SystemError) {
            watch = try watcher.watch(names, in: folder) { changed.raise() }
        } catch {
            watch = nil
            refused(error)
        }
    }

    /// Whether the system tells.
    var isTold: Bool { watch != nil }

    /// Waits until there may have been a change since the last call; for one task at a time.
    func next() async throws {
        if isTold { try await changed.wait() } else { try await sleep(Self.interval) }
    }

    /// Waits as ``next()``, but no longer than that; returns whether there may have been a change.
    func next(within limit: Duration) async throws -> Bool {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                try await self.next()
                return true
            }
            group.addTask {
                try await self.sleep(limit)
                return false
            }
            var hasChanged = try await group.next() ?? false
            group.cancelAll()
            // Both may have come: a change that is taken and not told would be lost.
            while let result = await group.nextResult() {
                if case .success(true) = result { hasChanged = true }
            }
            return hasChanged
        }
    }
}
