import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncPostgresValues
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct ReplicationTests {
    let poller: Poller

    init() throws {
        poller = try Poller()
    }

    @Test func decodesWhatHappensToTheTables() async throws {
        let uri = try await TestPostgres.database(poller)
        let sql = try await PostgresConnection.connect(uri, poller: poller)
        try await sql.script(
            """
            CREATE TYPE mood AS ENUM ('ok');
            CREATE TABLE lists (id int PRIMARY KEY, name text, big text, feeling mood);
            ALTER TABLE lists ALTER COLUMN big SET STORAGE EXTERNAL;
            CREATE TABLE whole (a int, b text);
            ALTER TABLE whole REPLICA IDENTITY FULL;
            CREATE PUBLICATION powersync FOR ALL TABLES
            """)
        let stream = try await replicate(uri, slot: "changes_\(await sql.backendProcessID)")
        let big = String(repeating: "b", count: 5000)
        try await sql.query("INSERT INTO lists VALUES (1, 'é', $1, 'ok'), (2, NULL, NULL, NULL)", [big])
        try await sql.query("UPDATE lists SET name = 'new' WHERE id = 1")
        try await sql.query("UPDATE lists SET id = 3 WHERE id = 2")
        try await sql.query("DELETE FROM lists WHERE id = 3")
        try await sql.script("INSERT INTO whole VALUES (1, 'x'); UPDATE whole SET b = 'y'; DELETE FROM whole")
        try await sql.script("TRUNCATE lists, whole RESTART IDENTITY")
        try await sql.query("SELECT pg_logical_emit_message(false, 'powersync', 'ping')")
        let messages = try await stream.messages { message in
            if case .message = message { true } else { false }
        }

        let relations = messages.compactMap { if case .relation(let relation) = $0 { relation } else { nil } }
        let lists = try #require(relations.first { $0.name == "lists" })
        let whole = try #require(relations.first { $0.name == "whole" })
        #expect(lists.namespace == "public")
        #expect(lists.identity == .primaryKey)
        #expect(lists.columns.map(\.name) == ["id", "name", "big", "feeling"])
        #expect(lists.columns.map(\.isKey) == [true, false, false, false])
        #expect(lists.columns[0].typeOID == 23)
        #expect(whole.identity == .full)
        #expect(
            messages.contains {
                if case .type(let oid, "public", "mood") = $0 {
                    oid == lists.columns[3].typeOID
                } else {
                    false
                }
            })
        let changes = messages.filter { message in
            switch message {
            case .insert, .update, .delete, .truncate: true
            default: false
            }
        }
        #expect(
            changes == [
                .insert(relation: lists.oid, new: [.text("1"), .text("é"), .text(big), .text("ok")]),
                .insert(relation: lists.oid, new: [.text("2"), .null, .null, .null]),
                .update(
                    relation: lists.oid, old: nil,
                    new: [.text("1"), .text("new"), .unchangedToast, .text("ok")]),
                .update(
                    relation: lists.oid, old: .key([.text("2"), .null, .null, .null]),
                    new: [.text("3"), .null, .null, .null]),
                .delete(relation: lists.oid, old: .key([.text("3"), .null, .null, .null])),
                .insert(relation: whole.oid, new: [.text("1"), .text("x")]),
                .update(
                    relation: whole.oid, old: .full([.text("1"), .text("x")]), new: [.text("1"), .text("y")]),
                .delete(relation: whole.oid, old: .full([.text("1"), .text("y")])),
                .truncate(relations: [lists.oid, whole.oid], options: 2),
            ])
        guard case .message(false, _, "powersync", let content) = messages.last else {
            Issue.record("the last message is \(String(describing: messages.last))")
            return
        }
        #expect(content == Array("ping".utf8))
        let begins = messages.compactMap { if case .begin(let lsn, _, _) = $0 { lsn } else { nil } }
        let ends = messages.compactMap {
            if case .commit(let lsn, let end, _) = $0 { (lsn, end) } else { nil }
        }
        #expect(begins == ends.map(\.0), "a transaction names its commit at the begin")
        #expect(ends.allSatisfy { $0.0 < $0.1 })
        await stream.connection.close()
        await sql.close()
    }

    @Test func theServerRemembersWhatWasConfirmed() async throws {
        let uri = try await TestPostgres.database(poller)
        let sql = try await PostgresConnection.connect(uri, poller: poller)
        try await sql.script(
            "CREATE TABLE t (x int PRIMARY KEY); CREATE PUBLICATION powersync FOR ALL TABLES")
        let slot = "confirm_\(await sql.backendProcessID)"
        let stream = try await replicate(uri, slot: slot)
        try await sql.query("INSERT INTO t VALUES (1)")
        let head = try #require(LSN(text: try await sql.query("SELECT pg_current_wal_lsn()").scalar ?? ""))
        let messages = try await stream.messages { if case .commit = $0 { true } else { false } }
        guard case .commit(_, let end, _) = messages.last else {
            Issue.record("no commit")
            return
        }
        #expect(head >= end, "a head read after the commit is at or after its end")
        let asked = "SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = $1"
        #expect(LSN(text: try await sql.query(asked, [slot]).scalar ?? "").map { $0 < end } == true)
        try await stream.connection.sendStandbyStatus(written: end, flushed: end, applied: end)
        try await wait(
            for: "the server to take note of \(end)",
            read: { LSN(text: try await sql.query(asked, [slot]).scalar ?? "") }, until: { $0 == end })
        // A new stream goes on after what was confirmed.
        await stream.connection.close()
        try await sql.query("INSERT INTO t VALUES (2)")
        let next = try await replicate(uri, slot: slot, isNew: false)
        let later = try await next.messages { if case .commit = $0 { true } else { false } }
        #expect(later.filter { if case .insert = $0 { true } else { false } }.count == 1)
        await next.connection.close()
        await sql.close()
    }

    @Test func waitingForTheStreamHasADeadlineAndCanBeCancelled() async throws {
        let uri = try await TestPostgres.database(poller)
        let sql = try await PostgresConnection.connect(uri, poller: poller)
        try await sql.script("CREATE PUBLICATION powersync FOR ALL TABLES")
        let connection = try await replicate(uri, slot: "wait_\(await sql.backendProcessID)").connection
        let task = Task {
            while true {
                do {
                    _ = try await connection.nextReplicationMessage()
                } catch let error as PostgresError where error.code == .busy {
                    // It met the other reader below.
                    await Task.yield()
                }
            }
        }
        try await wait(
            for: "the task to wait in the stream",
            read: { await refusal { _ = try await connection.nextReplicationMessage(until: .now) } },
            until: { $0 == .busy })
        let busy = await #expect(throws: PostgresError.self) { try await connection.query("SELECT 1") }
        #expect(busy?.code == .busy)
        // One task waits in the stream while another answers.
        try await connection.sendStandbyStatus(written: .zero, flushed: .zero, applied: .zero)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await sql.query("SELECT pg_logical_emit_message(false, 'powersync', 'after')")
        let stream = ReplicationStream(connection: connection)
        let messages = try await stream.messages { if case .message = $0 { true } else { false } }
        #expect(messages.count == 1, "the stream goes on after a cancelled wait")
        await connection.close()
        await sql.close()
    }

    @Test func theEndOfTheStreamIsAnError() async throws {
        let uri = try await TestPostgres.database(poller)
        let sql = try await PostgresConnection.connect(uri, poller: poller)
        try await sql.script("CREATE PUBLICATION powersync FOR ALL TABLES")
        let connection = try await replicate(uri, slot: "end_\(await sql.backendProcessID)").connection
        let task = Task {
            while try await connection.nextReplicationMessage() != nil {}
        }
        try await sql.query("SELECT pg_terminate_backend($1)", ["\(await connection.backendProcessID)"])
        let error = await #expect(throws: PostgresError.self) { try await task.value }
        #expect(error?.isConnectionLost == true)
        #expect(error?.sqlstate == "57P01")
        await sql.close()
    }

    @Test func refusalsOfReplicationKeepTheirCode() async throws {
        let uri = try await TestPostgres.database(poller)
        let connection = try await PostgresConnection.connect(
            uri, parameters: ["replication": "database"], poller: poller)
        let error = await #expect(throws: PostgresError.self) {
            try await connection.startReplication(
                slot: "no_such_slot", publication: "powersync", from: .zero, messages: true)
        }
        #expect(error?.sqlstate == "42704")
        await connection.close()
    }

    @Test func aSlotExportsTheSnapshotThatItBeginsWith() async throws {
        let uri = try await TestPostgres.database(poller)
        let sql = try await PostgresConnection.connect(uri, poller: poller)
        try await sql.script("CREATE TABLE t (x int); INSERT INTO t VALUES (1)")
        let connection = try await PostgresConnection.connect(
            uri, parameters: ["replication": "database"], poller: poller)
        let name = "snapshot_\(await connection.backendProcessID)"
        let slot = try await connection.createReplicationSlot(name, isTemporary: true, exportsSnapshot: true)
        #expect(slot.name == name)
        #expect(slot.consistentPoint > .zero)
        try await sql.query("INSERT INTO t VALUES (2)")
        let reader = try await PostgresConnection.connect(uri, poller: poller)
        try await reader.query("BEGIN ISOLATION LEVEL REPEATABLE READ")
        try await reader.script("SET TRANSACTION SNAPSHOT \(quoteLiteral(try #require(slot.snapshotName)))")
        #expect(
            try await reader.query("SELECT count(*) FROM t").scalar == "1", "what came later is not in it")
        await reader.close()
        await connection.close()
        let asked = "SELECT count(*) FROM pg_replication_slots WHERE slot_name = $1"
        try await wait(
            for: "the temporary slot to go with its connection",
            read: { try await sql.query(asked, [name]).scalar }, until: { $0 == "0" })
        await sql.close()
    }

    private func replicate(_ uri: String, slot: String, isNew: Bool = true) async throws -> ReplicationStream
    {
        // A slot that was just in use is free once the server noticed the end of its connection.
        let connection = try await PostgresConnection.connect(
            uri + "?replication=database", poller: poller)
        if isNew { _ = try await connection.createReplicationSlot(slot) }
        try await wait(for: "the slot to be free") {
            do {
                try await connection.startReplication(
                    slot: slot, publication: "powersync", from: .zero, messages: true)
                return true
            } catch let error as PostgresError where error.sqlstate == "55006" {
                return false
            }
        }
        return ReplicationStream(connection: connection)
    }
}

/// Reads a stream of pgoutput messages.
private struct ReplicationStream {
    let connection: PostgresConnection

    /// All messages up to and with the first that `isLast` accepts.
    func messages(until isLast: (PgOutputMessage) -> Bool) async throws -> [PgOutputMessage] {
        var messages: [PgOutputMessage] = []
        while let message = try await connection.nextReplicationMessage(until: .now + TestOptions.deadline) {
            guard case .xlog(_, _, let payload) = message else { continue }
            messages.append(try PgOutputMessage.decode(payload))
            if let last = messages.last, isLast(last) { return messages }
        }
        Issue.record("the stream fell silent")
        return messages
    }
}
