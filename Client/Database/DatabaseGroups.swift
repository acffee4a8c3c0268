import PowerSyncSystem

/// All databases of this process that are in use, by their file.
///
/// Instances of one file have to share connections and syncing wherever in the program they were made, hence the one
/// list for the process.
final class DatabaseGroups: Sendable {
    static let shared = DatabaseGroups()

    private struct Entry {
        weak var group: DatabaseGroup?
    }

    private let entries = Lock<[DatabaseLocation: Entry]>([:])
    /// One for all: the system gives each user few of what it needs.
    private let watcher: FileWatcher

    init(watcher: FileWatcher = FileWatcher()) {
        self.watcher = watcher
    }

    /// Returns the group of a place, a new one if nobody uses it; what is in memory is always new.
    func group(at location: DatabaseLocation) -> DatabaseGroup {
        guard location != .memory else { return DatabaseGroup(location: location) }
        return entries.withLock { entries in
            entries = entries.filter { $0.value.group != nil }
            if let group = entries[location]?.group { return group }
            let group = DatabaseGroup(location: location, watcher: watcher)
            entries[location] = Entry(group: group)
            return group
        }
    }
}
