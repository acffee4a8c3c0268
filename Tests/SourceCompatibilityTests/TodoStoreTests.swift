import Observation
import PowerSync
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSyncSourceCompatibility

/// The parts of the app of `Tests/SourceCompatibility`, without a service.
@Suite(.patient())
struct TodoStoreTests {
    /// Lets `body` use the app on a file of its own.
    private func with(
        _ connector: any PowerSyncBackendConnectorProtocol = TodoConnector(backend: RecordingBackend()),
        _ body: (TodoStore, any PowerSyncDatabaseProtocol) async throws -> Void
    ) async throws {
        let folder = try TemporaryDirectory(prefix: "powersync-app-")
        let store = await TodoStore(
            filename: folder.path + "/app.db", user: "alice", connector: connector,
            logger: DefaultLogger(minSeverity: .fault))
        try await store.start()
        try await body(store, await store.db)
        try await store.close()
        folder.remove()
    }

    @Test func aViewIsToldOfAWrite() async throws {
        try await with { store, _ in
            try await wait(for: "the lists to be read") { await store.isLoaded }
            let told = Lock(false)
            await MainActor.run {
                withObservationTracking {
                    _ = store.lists
                } onChange: {
                    told.withLock { $0 = true }
                }
            }
            let list = try await store.addList(named: "Groceries")
            try await store.addTodo("Milk", to: list)
            try await wait(for: "the view to be told") { told.withLock { $0 } }
            let shown = [ListItem(id: list, name: "Groceries", open: 1)]
            try await wait(for: "the list", read: { await store.lists }, until: { $0 == shown })
            #expect(await store.errorMessage == nil)
        }
    }

    @Test func aTransactionThatThrowsLeavesNothing() async throws {
        try await with { store, database in
            await #expect(throws: TodoError.noSuchList) {
                try await store.addTodo("Milk", to: "nowhere")
            }
            let count = try await store.count()
            #expect(count == (lists: 0, todos: 0))
            let next = try await database.getNextCrudTransaction()
            #expect(next == nil)
        }
    }

    @Test func aConnectorUploadsATransactionAtATime() async throws {
        let backend = RecordingBackend()
        let connector = TodoConnector(backend: backend)
        try await with(connector) { store, database in
            let list = try await store.addList(named: "Groceries")
            try await store.addTodo("Milk", to: list)
            let todo = try await database.get("SELECT id FROM todos") { try $0.getString(index: 0) }
            try await store.set(todo, isCompleted: true)
            try await store.addLabel("urgent")
            let label = try await database.get("SELECT id FROM labels") { try $0.getString(index: 0) }
            try await store.deleteList(list)
            while try await database.getNextCrudTransaction() != nil {
                try await connector.uploadData(database: database)
            }
            let owner = JsonValue.string("alice")
            #expect(
                backend.uploads == [
                    [
                        Change(
                            op: .put, table: "lists", id: list,
                            data: ["owner_id": owner, "name": .string("Groceries")])
                    ],
                    [
                        Change(
                            op: .put, table: "todos", id: todo,
                            data: [
                                "list_id": .string(list), "owner_id": owner, "description": .string("Milk"),
                                "completed": .int(0),
                            ])
                    ],
                    [Change(op: .patch, table: "todos", id: todo, data: ["completed": .int(1)])],
                    [
                        Change(
                            op: .put, table: "labels", id: label,
                            data: ["owner_id": owner, "name": .string("urgent")])
                    ],
                    [
                        Change(op: .delete, table: "todos", id: todo, data: nil),
                        Change(op: .delete, table: "lists", id: list, data: nil),
                    ],
                ])
        }
    }

    @Test func aConnectorOfOlderAppsUploadsABatch() async throws {
        let backend = RecordingBackend()
        let connector = LegacyConnector(backend: backend)
        try await with(connector) { store, database in
            let list = try await store.addList(named: "Groceries")
            try await store.addTodo("Milk", to: list)
            try await connector.uploadData(database: database)
            #expect(try await database.getCrudBatch() == nil)
            #expect(backend.uploads.map { $0.map(\.table) } == [["lists", "todos"]])
            let todo = try #require(backend.uploads.first?.last)
            #expect(todo.data?["completed"] == .string("0"))
            #expect(todo.data?["description"] == .string("Milk"))
        }
    }

    @Test func whatIsRefusedForGoodLeavesTheQueue() async throws {
        let backend = RecordingBackend(refuses: true)
        let connector = TodoConnector(backend: backend)
        try await with(connector) { store, database in
            try await store.addList(named: "Groceries")
            try await connector.uploadData(database: database)
            #expect(backend.uploads.count == 1)
            #expect(try await database.getNextCrudTransaction() == nil)
        }
    }

    @Test func nobodyWhoIsSignedOutHasCredentials() async throws {
        let user = SignedInUser(endpoint: "https://sync.example.com", token: "token")
        let connectors: [(Bool, any PowerSyncBackendConnectorProtocol)] = [
            (true, TodoConnector(backend: RecordingBackend(user: user))),
            (false, TodoConnector(backend: RecordingBackend())),
            (true, LegacyConnector(backend: RecordingBackend(user: user))),
            (false, LegacyConnector(backend: RecordingBackend())),
        ]
        for (isSignedIn, connector) in connectors {
            let credentials = try await connector.fetchCredentials()
            #expect(credentials?.endpoint == (isSignedIn ? user.endpoint : nil))
            #expect(credentials?.token == (isSignedIn ? user.token : nil))
        }
    }
}
