#if canImport(Combine)
    import Combine
    import PowerSync

    /// The names of the lists for views that observe objects of Combine; no compiler on Linux sees this file.
    @MainActor
    final class ListsObject: ObservableObject {
        @Published private(set) var names: [String] = []
        private let db: PowerSyncDatabaseProtocol

        init(_ db: PowerSyncDatabaseProtocol) {
            self.db = db
        }

        /// Shows the lists, until the task is cancelled.
        func watch() async throws {
            for try await names in try db.watch(
                "SELECT name FROM lists ORDER BY name",
                mapper: { cursor in try cursor.getString(index: 0) }
            ) {
                self.names = names
            }
        }
    }
#endif
