import Foundation
import PowerSyncBackend
import PowerSyncContractCases
import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// A PgBouncer in transaction mode between the backend and its database (backend 8.2; case 126).
@Suite(.enabled(if: TestOptions.hasDatabase && PgBouncer.isWanted), .patient())
struct BouncerTests {
    private static let poolSize = 3
    /// One for all of them, which ends with the test process.
    private static let bouncer = Task {
        try await PgBouncer(before: try await TestPostgres.server(), poolSize: BouncerTests.poolSize)
    }
    private static let backends = ContractBackends(through: BouncerTests.bouncer)

    /// The cases of the groups C to G.
    static func numbers() throws -> [CaseNumber] {
        try ContractCatalogue.ours().numbersOfCases.filter {
            (41...117).contains($0.number) || (127...136).contains($0.number)
        }
    }

    @Test(arguments: try BouncerTests.numbers())
    func theCatalogueThroughAPoolOfThree(number: CaseNumber) async throws {
        try await Self.backends.ask(number)
    }

    /// More at once than there are sessions, each of which is another user's a moment later.
    @Test func nothingOfATransactionIsLeftToTheNextOne() async throws {
        let schema = """
            CREATE TABLE notes (id text PRIMARY KEY, owner_id text NOT NULL, who text, claimed text);
            CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                NEW.who = current_setting('app.user_id', true);
                NEW.claimed = current_setting('request.jwt.claims', true)::json ->> 'sub';
                RETURN NEW; END $$;
            CREATE TRIGGER sees BEFORE INSERT ON notes FOR EACH ROW EXECUTE FUNCTION see();
            """
        let poller = try Poller()
        defer { poller.stop() }
        let uri = try await TestPostgres.database(poller)
        let owner = try await PostgresConnection.connect(uri, poller: poller)
        try await owner.script(schema)
        let through = try await Self.bouncer.value.uri(through: uri)
        try await TestBackend.with(
            schema: "SELECT 1", uri: through, map: "tables: { notes: { owner: owner_id } }",
            { ($0.links.preparesStatements, $0.poolSize) = (false, 8) }
        ) { backend in
            // No more at once than may wait for a connection.
            for number in 0..<5 {
                try await withThrowingTaskGroup(of: [String].self) { group in
                    for user in 0..<20 {
                        group.addTask {
                            let put =
                                #"{"op":"PUT","table":"notes","id":"\#(user) \#(number)","data":{}}"#
                            return try await backend.upload("{\"batch\":[\(put)]}", user: "u\(user)").states
                        }
                    }
                    for try await states in group { #expect(states == ["applied"]) }
                }
            }
            let sessions = """
                SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
                    AND application_name = 'powersync-backend'
                """
            let count = try #require(try await owner.query(sessions).scalar.flatMap { Int($0) })
            #expect((1...Self.poolSize).contains(count), "it has gone through the pooler")
        }
        let rows = try await owner.query(
            """
            SELECT count(*) FROM notes
            WHERE owner_id = 'u' || split_part(id, ' ', 1) AND who = owner_id AND claimed = owner_id
            """)
        #expect(rows.scalar == "100")
        await owner.close()
    }

    /// The error of a start says what to do.
    @Test func withSettingsOfASessionItIsRefused() async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let uri = try await TestPostgres.database(poller)
        let through = try await Self.bouncer.value.uri(through: uri)
        let error = await #expect(throws: BackendError.self) {
            try await TestBackend.with(
                schema: "SELECT 1", uri: through,
                {
                    $0.links.preparesStatements = true
                    $0.startTimeout = .seconds(1)
                }
            ) { _ in }
        }
        #expect(error?.code == .database)
        #expect(error?.message.contains("PREPARED=off") == true, "\(error?.message ?? "none")")
    }
}
