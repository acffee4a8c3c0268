import Foundation
import PowerSync
import PowerSyncTestSupport
import Testing

@testable import PowerSyncSourceCompatibility

/// The app of `Tests/SourceCompatibility`, written as apps of the official SDK are, with a backend and a service.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct TodoAppTests {
    @Test func twoDevicesOfAUserShowTheSame() async throws {
        try await TodoStack.run { stack in
            let a = try await stack.store("a", connector: TodoConnector(backend: stack.backend))
            let b = try await stack.store("b", connector: LegacyConnector(backend: stack.backend))
            try await a.connect()
            try await b.connect(options: LegacyConnector.options)
            for store in [a, b] {
                #expect(try await store.count() == (lists: 1, todos: 0))
                try await shows(["Groceries"], store)
                try await store.open("groceries")
                #expect(await store.openListStatus?.subscription.active == true)
                try await shows(["Milk": false], store)
            }
            // What A writes in a transaction B shows, and what B changes A does.
            try await a.addTodo("Bread", to: "groceries")
            try await shows(["Bread": false, "Milk": false], b)
            let todos = await b.todos
            let milk = try #require(todos.first { $0.description == "Milk" })
            try await b.set(milk.id, isCompleted: true)
            try await shows(["Bread": false, "Milk": true], a)
            #expect(try await stack.ask("SELECT description FROM todos WHERE completed") == "Milk")
            try await wait(for: "one todo that is to be done") { await a.lists.map(\.open) == [1] }
            // The table that the app has made itself.
            try await a.addLabel("urgent")
            try await wait(for: "the label", read: { await b.labels }, until: { $0 == ["urgent"] })
            #expect(try await stack.ask("SELECT name || owner_id FROM labels") == "urgentalice")

            let books = try await b.addList(named: "Books")
            try await shows(["Books", "Groceries"], a)
            try await a.deleteList("groceries")
            try await shows(["Books"], b)
            try await shows([:], b)
            #expect(try await stack.ask("SELECT id FROM lists WHERE owner_id = 'alice'") == books)
            #expect(try await stack.ask("SELECT count(*) FROM todos") == "0")
            for store in [a, b] {
                #expect(await store.errorMessage == nil)
                try await store.close()
            }
        }
    }

    @Test func theStateOfSyncingShows() async throws {
        try await TodoStack.run { stack in
            let store = try await stack.store("a", connector: TodoConnector(backend: stack.backend))
            let status = await store.db.currentStatus
            let indicator = await SyncIndicator()
            let following = Task { await indicator.follow(status) }
            defer { following.cancel() }
            try await wait(for: "the first state", read: { await indicator.text }, until: { $0 == "Offline" })
            try await store.connect()
            try await wait(for: "all data", read: { await indicator.text }, until: { $0 == "Up to date" })
            let observed = await MainActor.run { status.observable.hasSynced }
            #expect(observed == true)
            #expect(status.statusForPriority(BucketPriority(1)).hasSynced == true)
            // What is in Postgres when it is asked for is here when that returns.
            _ = try await stack.ask(
                "INSERT INTO lists (id, owner_id, name) VALUES ('books', 'alice', 'Books')")
            try await store.refresh(within: TimeInterval(TestOptions.deadline.components.seconds))
            #expect(try await store.count() == (lists: 2, todos: 0))

            try await store.signOut()
            #expect(!status.connected)
            #expect(status.hasSynced == false)
            #expect(try await store.count() == (lists: 0, todos: 0))
            try await shows([String](), store)
            try await wait(for: "the end", read: { await indicator.text }, until: { $0 == "Offline" })
            try await store.close()
        }
    }

    @Test func theGeneratedSchemaSyncs() async throws {
        try await TodoStack.run { stack in
            let database = PowerSyncDatabase(
                schema: PowerSyncSourceCompatibility.schema, dbFilename: stack.folder + "/generated.db",
                logger: DefaultLogger(minSeverity: .fault))
            try await database.connect(
                connector: TodoConnector(backend: stack.backend), crudThrottle: 0.05, retryDelay: 1)
            try await database.waitForFirstSync()
            let subscription = try await TypedSyncStreams(database).todos().subscribe()
            try await subscription.waitForFirstSync()
            let row: (String, Bool) = try await database.get(
                "SELECT lists.name, completed FROM todos JOIN lists ON lists.id = list_id"
            ) { cursor in (try cursor.getString(index: 0), try cursor.getBoolean(index: 1)) }
            #expect(row == ("Groceries", false))
            try await database.execute("UPDATE todos SET completed = 1")
            try await wait(for: "the change in Postgres") {
                try await stack.ask("SELECT id FROM todos WHERE completed") == "milk"
            }
            try await database.close()
        }
    }

    /// Waits until an app shows lists of these names.
    private func shows(
        _ names: [String], _ store: TodoStore, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await wait(
            for: "lists", sourceLocation: sourceLocation, read: { await store.lists.map(\.name) },
            until: { $0 == names })
    }

    /// Waits until an app shows these todos, and which of them are done.
    private func shows(
        _ todos: [String: Bool], _ store: TodoStore, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await wait(
            for: "todos", sourceLocation: sourceLocation, read: { await store.todos },
            until: { seen in
                seen.count == todos.count && seen.allSatisfy { todos[$0.description] == $0.isCompleted }
            })
    }
}
