import Foundation
import PowerSync
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// Code as it is written against the official client: it has to compile and to do what it says there.
@Suite(.patient())
struct OfficialUsageTests {
    private struct Connector: PowerSyncBackendConnectorProtocol {
        func fetchCredentials() async throws -> PowerSyncCredentials? {
            // Nobody listens on the port of the discard service of this machine.
            PowerSyncCredentials(endpoint: "http://127.0.0.1:9", token: "token")
        }

        func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
            guard let batch = try await database.getCrudBatch() else { return }
            try await batch.complete()
        }
    }

    private func open(_ folder: TemporaryDirectory) -> any PowerSyncDatabaseProtocol {
        let lists = Table(name: "lists", columns: [.text("name")])
        let todos = Table(
            name: "todos", columns: [.text("list_id"), .text("description"), .integer("completed")],
            indexes: [Index(name: "list", columns: [IndexedColumn.ascending("list_id")])])
        return PowerSyncDatabase(
            schema: Schema(lists, todos), dbFilename: folder.file(),

            logger: DefaultLogger(minSeverity: .fault, writers: [RecordingWriter(keeping: folder)]))
    }

    @Test func readingAndWritingAsInTheGuides() async throws {
        let database: any PowerSyncDatabaseProtocol = open(try TemporaryDirectory())
        try await database.writeTransaction { tx in
            try tx.execute(sql: "INSERT INTO lists (id, name) VALUES (?, ?)", parameters: ["l", "Groceries"])
            try tx.execute(
                sql: "INSERT INTO todos (id, list_id, description, completed) VALUES (uuid(), ?, ?, ?)",
                parameters: ["l", "Milk", false])
        }
        let row: (String, Bool) = try await database.get(
            "SELECT lists.name, completed FROM todos JOIN lists ON lists.id = todos.list_id"
        ) { cursor in (try cursor.getString(name: "name"), try cursor.getBoolean(name: "completed")) }
        #expect(row == ("Groceries", false))
        let names = try await database.getAll("SELECT name FROM lists") { try $0.getString(index: 0) }
        #expect(names == ["Groceries"])
        for try await counts in try database.watch(
            sql: "SELECT count(*) AS count FROM todos WHERE completed = ?", parameters: [false],
            mapper: { try $0.getInt(name: "count") })
        {
            #expect(counts == [1])
            break
        }
        try await database.close(deleteDatabase: true)
    }

    @Test func unreachableServiceShowsInTheStatusAndNotInConnect() async throws {
        let database = open(try TemporaryDirectory())
        try await database.connect(connector: Connector(), retryDelay: 0.05)
        for await status in database.currentStatus.asFlow() where status.downloadError != nil {
            #expect((status.downloadError as? PowerSyncError)?.code == .connectionRefused)
            #expect(!status.connected)
            #expect(status.hasSynced == false)
            break
        }
        try await database.disconnect()
        try await database.close()
    }
}
