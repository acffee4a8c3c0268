import Foundation
import PowerSync
import PowerSyncTestSupport
import Testing

@Suite(.patient())
struct CrudTests {
    private func insert(_ count: Int, into test: TestDatabase) async throws {
        try await test.database.writeTransaction { transaction in
            for _ in 0..<count {
                try transaction.execute(
                    sql: "INSERT INTO users (id, name) VALUES (uuid(), 'A')", parameters: [])
            }
        }
    }

    @Test("150: transactions come whole, and completing one removes the earlier too", .behaviour(56, 60))
    func transactionsComeWholeAndCompletingOneRemovesTheEarlierToo() async throws {
        let test = try TestDatabase()
        for count in [5, 10, 15] { try await insert(count, into: test) }
        var collected: [CrudTransaction] = []
        for try await transaction in test.database.getCrudTransactions() {
            collected.append(transaction)
            if collected.flatMap(\.crud).count >= 10 { break }
        }
        #expect(collected.map(\.crud.count) == [5, 10])
        #expect(collected.map(\.transactionId) == [1, 2])
        #expect(try await test.count("ps_crud") == 30)
        try await collected.last?.complete()
        let rest = try #require(try await test.database.getNextCrudTransaction())
        #expect(rest.crud.count == 15)
        #expect(rest.transactionId == 3)
        try await rest.complete()
        #expect(try await test.database.getNextCrudTransaction() == nil)
    }

    @Test func entriesWithoutTransactionStandAlone() async throws {
        let test = try TestDatabase()
        try await test.database.execute(
            """
            INSERT INTO ps_crud (tx_id, data) VALUES
                (NULL, '{"op":"DELETE","type":"users","id":"1"}'), (NULL, '{"op":"DELETE","type":"users","id":"2"}')
            """)
        var ids: [[String]] = []
        for try await transaction in test.database.getCrudTransactions() {
            ids.append(transaction.crud.map(\.id))
        }
        #expect(ids == [["1"], ["2"]])
    }

    @Test(.behaviour(61)) func iteratingAnEmptyQueueYieldsNothing() async throws {
        let test = try TestDatabase()
        for try await _ in test.database.getCrudTransactions() { Issue.record("The queue is empty") }
        #expect(try await test.database.getCrudBatch() == nil)
    }

    @Test("150: a batch tells whether there is more") func batchTellsWhetherThereIsMore() async throws {
        let test = try TestDatabase()
        try await insert(100, into: test)
        let half = try #require(try await test.database.getCrudBatch(limit: 50))
        #expect(half.crud.count == 50)
        #expect(half.hasMore)
        let all = try #require(try await test.database.getCrudBatch())
        #expect(all.crud.count == 100)
        #expect(!all.hasMore)
        let huge = try #require(try await test.database.getCrudBatch(limit: .max))
        #expect(huge.crud.count == 100)
        #expect(!huge.hasMore)
        try await half.complete()
        #expect(try await test.count("ps_crud") == 50)
        try await half.complete()
        #expect(try await test.count("ps_crud") == 50)
        try await all.complete()
        #expect(try await test.database.getCrudBatch() == nil)
    }

    @Test(arguments: [Int32(0), -1, .min]) func limitThatIsNotPositiveGivesNothing(_ limit: Int32)
        async throws
    {
        let test = try TestDatabase()
        try await insert(1, into: test)
        #expect(try await test.database.getCrudBatch(limit: limit) == nil)
    }

    @Test(.behaviour(50, 51, 59)) func putPatchAndDeleteCarryWhatTheyWrote() async throws {
        let test = try TestDatabase()
        try await test.database.execute(
            "INSERT INTO users (id, name, favorite_number, weight) VALUES ('u', 'A', 0, 1.5)")
        try await test.database.execute("UPDATE users SET name = NULL, favorite_number = 9007199254740993")
        try await test.database.execute("DELETE FROM users")
        let batch = try #require(try await test.database.getCrudBatch())
        #expect(batch.crud.map(\.op) == [.put, .patch, .delete])
        #expect(batch.crud.map(\.id) == ["u", "u", "u"])
        #expect(batch.crud.map(\.table) == ["users", "users", "users"])
        #expect(batch.crud.map(\.transactionId) == [1, 2, 3])
        #expect(batch.crud.map(\.clientId) == [1, 2, 3])
        #expect(
            batch.crud[0].opDataTyped == [
                "name": .string("A"), "favorite_number": .int(0), "weight": .double(1.5),
            ])
        #expect(batch.crud[0].opData == ["name": "A", "favorite_number": "0", "weight": "1.5"])
        #expect(batch.crud[1].opDataTyped == ["name": .null, "favorite_number": .int(9_007_199_254_740_993)])
        let patched = try #require(batch.crud[1].opData)
        #expect(patched.keys.contains("name"))
        #expect(patched["name"] == .some(nil))
        #expect(batch.crud[2].opDataTyped == nil)
        #expect(batch.crud[2].opData == nil)
    }

    @Test(.behaviour(54, 62)) func previousValuesMetadataAndInsertOnlyTablesArriveInTheQueue() async throws {
        let test = try TestDatabase(
            schema: Schema(
                Table(
                    name: "notes", columns: [.text("text")], trackMetadata: true,
                    trackPreviousValues: TrackPreviousValuesOptions()),
                Table(name: "events", columns: [.text("kind")], insertOnly: true)))
        try await test.database.execute(
            "INSERT INTO notes (id, text, _metadata) VALUES ('n', 'old', 'so meta')")
        try await test.database.execute("UPDATE notes SET text = 'new'")
        try await test.database.execute("INSERT INTO events (id, kind) VALUES ('e', 'click')")
        let batch = try #require(try await test.database.getCrudBatch())
        #expect(batch.crud[0].metadata == "so meta")
        #expect(batch.crud[1].previousValues == ["text": "old"])
        #expect(batch.crud[1].previousValuesTyped == ["text": .string("old")])
        #expect(batch.crud[2].table == "events")
        #expect(try await test.count("events") == 0)
    }

    @Test func completingBlocksApplyingUntilTheCheckpointIsKnown() async throws {
        let test = try TestDatabase()
        try await insert(1, into: test)
        try await #require(try await test.database.getNextCrudTransaction()).complete()
        #expect(try await test.target() == .max)
    }

    @Test(.behaviour(65)) func ownWriteCheckpointIsTheTargetOnceTheQueueIsEmpty() async throws {
        let test = try TestDatabase()
        for _ in 0..<2 { try await insert(1, into: test) }
        let first = try #require(try await test.database.getNextCrudTransaction())
        try await first.complete(writeCheckpoint: "122")
        #expect(try await test.target() == .max)
        let second = try #require(try await test.database.getNextCrudTransaction())
        try await second.complete(writeCheckpoint: "123")
        #expect(try await test.target() == 123)
        try await insert(1, into: test)
        let batch = try #require(try await test.database.getCrudBatch())
        try await batch.complete(writeCheckpoint: "124")
        #expect(try await test.target() == 124)
    }

    @Test func completingAgainChangesNothing() async throws {
        let test = try TestDatabase()
        for _ in 0..<2 { try await insert(1, into: test) }
        let first = try #require(try await test.database.getNextCrudTransaction())
        let both = try #require(try await test.database.getCrudBatch())
        try await both.complete(writeCheckpoint: "123")
        try await both.complete(writeCheckpoint: "5")
        try await first.complete(writeCheckpoint: "6")
        try await first.complete()
        #expect(try await test.target() == 123)
    }

    @Test func writeCheckpointThatIsNoNumberIsRefusedAndNothingIsRemoved() async throws {
        let test = try TestDatabase()
        try await insert(1, into: test)
        let transaction = try #require(try await test.database.getNextCrudTransaction())
        await #expect(throws: PowerSyncError.self) { try await transaction.complete(writeCheckpoint: "abc") }
        #expect(try await test.count("ps_crud") == 1)
    }

    @Test func entryThatIsNotReadableIsAnErrorWithoutItsContent() async throws {
        let test = try TestDatabase()
        try await test.database.execute("INSERT INTO ps_crud (tx_id, data) VALUES (1, '{\"secret\":1}')")
        let error = await #expect(throws: PowerSyncError.self) { try await test.database.getCrudBatch() }
        #expect(error?.errorDescription?.contains("upload queue") == true)
        #expect(error?.errorDescription?.contains("secret") == false)
    }
}
