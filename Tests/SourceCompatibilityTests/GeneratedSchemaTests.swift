import Foundation
import PowerSync
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSyncSourceCompatibility

/// The Swift that the official command-line tool has generated: it compiles as it is, and makes its tables.
@Suite(.patient())
struct GeneratedSchemaTests {
    /// Lets `body` use a database with the generated tables.
    private func with(_ body: (any PowerSyncDatabaseProtocol) async throws -> Void) async throws {
        let folder = try TemporaryDirectory(prefix: "powersync-app-")
        let database = PowerSyncDatabase(
            schema: PowerSyncSourceCompatibility.schema, dbFilename: folder.path + "/generated.db",
            logger: DefaultLogger(minSeverity: .fault))
        try await body(database)
        try await database.close()
        folder.remove()
    }

    @Test func whatIsCompiledIsTheRecording() throws {
        let recorded = try Repository.fixture("service/captures/cli-schema.swift.txt")
        let compiled = try Data(
            contentsOf: Repository.root.appending(path: "Tests/SourceCompatibility/GeneratedSchema.swift"))
        #expect(Array(compiled) == recorded)
        #expect(!recorded.isEmpty)
    }

    @Test func itsTablesKeepEveryColumn() async throws {
        try PowerSyncSourceCompatibility.schema.validate()
        try await with { database in
            try await database.writeTransaction { transaction in
                try transaction.execute(
                    sql: """
                        INSERT INTO lists (id, owner_id, name, created_at)
                        VALUES ('l', 'u', 'one', '2026')
                        """, parameters: [])
                try transaction.execute(
                    sql: """
                        INSERT INTO todos
                            (id, list_id, description, completed, position, score, tags, photo, price, kind)
                        VALUES ('t', 'l', 'Milk', true, '7', '0.5', '[]', 'aGk=', '1.10', 'x')
                        """, parameters: [])
            }
            let types = try await database.get(
                """
                SELECT typeof(list_id), typeof(description), typeof(completed), typeof(position),
                    typeof(score), typeof(tags), typeof(photo), typeof(price), typeof(kind) FROM todos
                """
            ) { cursor in try (0..<cursor.columnCount).map { try cursor.getString(index: $0) } }
            #expect(
                types == ["text", "text", "integer", "integer", "real", "text", "text", "text", "text"])
            let lists = try await database.getAll("SELECT owner_id || name || created_at FROM lists") {
                try $0.getString(index: 0)
            }
            #expect(lists == ["uone2026"])
            let queued = try #require(try await database.getNextCrudTransaction())
            #expect(queued.crud.map(\.table) == ["lists", "todos"])
            #expect(queued.crud.map { $0.opData?.count } == [3, 9])
        }
    }

    @Test func itsStreamIsSubscribedTo() async throws {
        try await with { database in
            let stream = TypedSyncStreams(database).todos()
            #expect(stream.name == "todos")
            #expect(stream.parameters?.isEmpty == true)
            let subscription = try await stream.subscribe()
            let status = database.currentStatus
            try await wait(for: "the subscription") { status.forStream(stream: subscription) != nil }
            let shown = status.forStream(stream: subscription)?.subscription
            #expect(shown?.name == "todos")
            #expect(shown?.hasExplicitSubscription == true)
            #expect(shown?.hasSynced == false)
            try await subscription.unsubscribe()
        }
    }
}
