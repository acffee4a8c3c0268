import Foundation
import PowerSync
import PowerSyncPostgres
import PowerSyncStack
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// Uploads over a network that loses requests and answers, to a backend of this package: what is sent at least once happens
/// exactly once there, since its ledger knows each change.
///
/// `UploadLoopTests` does the same without a backend. `POWERSYNC_UPLOAD_ENTRIES` says how many changes go through random
/// failures.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient(minutes: 60))
struct UploadLedgerTests {
    /// What becomes of an upload on its way.
    private enum Fate {
        /// The backend never gets it.
        case lost
        /// So many bytes of the answer come through.
        case cut(after: Int)
        case whole
    }

    /// A network between a client and a backend, over which tokens always come.
    ///
    /// - Parameters:
    ///   - backend: the backend's URL.
    ///   - fate: what becomes of the next upload.
    ///   - answered: gets the size of each answer to an upload.
    /// - Returns: the server that the client talks to.
    /// - Throws: when there is no port.
    private static func wire(
        to backend: String, fate: @escaping @Sendable () -> Fate,
        answered: @escaping @Sendable (Int) -> Void = { _ in }
    ) throws -> RawServer {
        let port = try #require(URL(string: backend)?.port)
        return try RawServer { connection in
            while let request = connection.request() {
                let isUpload = request.hasPrefix("POST /api/data ")
                let outcome = isUpload ? fate() : Fate.whole
                if case .lost = outcome { return }
                guard let answer = RawConnection.answer(to: request, from: port) else { return }
                let bytes = Array(answer.utf8)
                if isUpload { answered(bytes.count) }
                if case .cut(let count) = outcome, count < bytes.count {
                    connection.send(Array(bytes.prefix(count)))
                    return
                }
                connection.send(bytes)
            }
        }
    }

    /// Lets `body` use a client of the demo's app, whose every effect on lists Postgres notes.
    private static func withClient(
        _ world: DemoWorld, over wire: RawServer, _ body: (any PowerSyncDatabaseProtocol) async throws -> Void
    ) async throws {
        for sql in [
            "CREATE TABLE effects (n bigserial PRIMARY KEY, effect text NOT NULL)",
            """
            CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
            BEGIN
                INSERT INTO public.effects (effect) VALUES (TG_OP || ' ' || coalesce(NEW.id, OLD.id)::text);
                RETURN NULL;
            END $$
            """,
            """
            CREATE TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON lists
            FOR EACH ROW EXECUTE FUNCTION note()
            """,
        ] { _ = try await world.query(sql) }
        let folder = try TemporaryDirectory(prefix: "powersync-ledger-")
        defer { folder.remove() }
        let database = PowerSyncDatabase(
            schema: DemoSchema.client, dbFilename: folder.path + "/c.db", logger: DefaultLogger(writers: []))
        let connector = BackendConnector(
            url: wire.url(), user: "alice", endpoint: try await world.stack.url(.service))
        do {
            try await body(database)
            try await database.connect(
                connector: connector, options: ConnectOptions(crudThrottle: 0.001, retryDelay: 0.001))
            try await wait(
                for: "the end of the queue", within: TestOptions.deadline * 10,
                read: {
                    try await database.get("SELECT count(*) FROM ps_crud") { try $0.getInt(index: 0) }
                }, until: { $0 == 0 })
        } catch {
            try await database.close()
            throw error
        }
        try await database.close()
        withExtendedLifetime(wire) {}
    }

    /// What has happened to lists in Postgres, in its order.
    private static func effects(_ world: DemoWorld) async throws -> [String] {
        let result = try await world.query("SELECT effect FROM effects ORDER BY n")
        return (0..<result.rowCount).compactMap { result[$0, 0] }
    }

    private static func id(_ number: Int) -> String {
        let digits = String(number)
        return "aaaaaaaa-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
    }

    /// Makes two lists, changes the first and deletes the second; four changes.
    ///
    /// - Parameters:
    ///   - number: a number of its own.
    ///   - transaction: where.
    /// - Returns: the effects.
    /// - Throws: what the database throws.
    private static func change(_ number: Int, in transaction: any Transaction) throws -> [String] {
        let (kept, gone) = (id(2 * number), id(2 * number + 1))
        for id in [kept, gone] {
            try transaction.execute(
                sql: "INSERT INTO lists (id, owner_id, name) VALUES (?, 'alice', 'new')", parameters: [id])
        }
        try transaction.execute(sql: "UPDATE lists SET name = 'changed' WHERE id = ?", parameters: [kept])
        try transaction.execute(sql: "DELETE FROM lists WHERE id = ?", parameters: [gone])
        return ["INSERT \(kept)", "INSERT \(gone)", "UPDATE \(kept)", "DELETE \(gone)"]
    }

    @Test func anAnswerThatIsCutAtAnyByteLeavesOneEffect() async throws {
        try await EndToEnd.withWorld { world in
            let (uploads, longest) = (Lock(0), Lock(0))
            // Of the first answer nothing comes through, of each one after it one byte more.
            let wire = try Self.wire(
                to: try await world.stack.url(.backend),
                fate: {
                    uploads.withLock { uploads in
                        uploads += 1
                        return Fate.cut(after: uploads - 1)
                    }
                },
                answered: { size in longest.withLock { $0 = max($0, size) } })
            try await Self.withClient(world, over: wire) { database in
                _ = try await database.writeTransaction { try Self.change(0, in: $0) }
            }
            #expect(longest.withLock { $0 } > 200)
            #expect(uploads.withLock { $0 } > longest.withLock { $0 })
            let expected = [
                "INSERT \(Self.id(0))", "INSERT \(Self.id(1))", "UPDATE \(Self.id(0))",
                "DELETE \(Self.id(1))",
            ]
            #expect(try await Self.effects(world) == expected)
        }
    }

    @Test func manyChangesThroughRandomFailuresHaveOneEffectEachInOrder() async throws {
        let count = TestOptions.number("POWERSYNC_UPLOAD_ENTRIES", standard: 400)
        try await EndToEnd.withWorld { world in
            let random = Lock(SeededRandom(seed: count))
            let wire = try Self.wire(
                to: try await world.stack.url(.backend),
                fate: {
                    random.withLock { random -> Fate in
                        switch random.below(6) {
                        case 0: .lost
                        case 1: .cut(after: 0)
                        case 2: .cut(after: random.below(2_000))
                        default: .whole
                        }
                    }
                })
            let expected = Lock<[String]>([])
            try await Self.withClient(world, over: wire) { database in
                // Twenty changes in a transaction.
                for first in stride(from: 0, to: count / 4, by: 5) {
                    let numbers = first..<min(first + 5, count / 4)
                    let effects = try await database.writeTransaction { transaction in
                        try numbers.flatMap { try Self.change($0, in: transaction) }
                    }
                    expected.withLock { $0 += effects }
                }
            }
            let effects = try await Self.effects(world)
            #expect(effects.count == count / 4 * 4)
            #expect(effects == expected.withLock { $0 })
        }
    }
}
