/// Tells which tables the commits of a pool's writer changed.
///
/// Safe because only work on the writing connection, which is serial, touches what is collected.
final class SQLiteTableUpdates: @unchecked Sendable {
    private let tell: @Sendable (Set<String>) -> Void
    private var tables: SQLiteCommittedTables?

    init(_ tell: @escaping @Sendable (Set<String>) -> Void) { self.tell = tell }

    /// Starts collecting; called on the writer's thread.
    func observe(_ connection: SQLiteConnection) { tables = SQLiteCommittedTables(of: connection) }

    /// Tells what was committed since the last call; called on the writer's thread.
    func tellWhatWasCommitted() {
        guard let names = tables?.drain(), !names.isEmpty else { return }
        tell(names)
    }
}
