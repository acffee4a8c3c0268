import PowerSyncBackend
import PowerSyncCrypto
import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// A schema psb that an earlier backend made and filled.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct SchemaUpgradeTests {
    private let operations = [
        #"{"op_id":1,"op":"PUT","table":"lists","id":"a","data":{"name":"1.50"}}"#,
        #"{"op_id":2,"op":"PATCH","table":"lists","id":"a","data":{"owner_id":null,"name":"x"}}"#,
    ]

    private func body(_ operations: [String]) -> String {
        #"{"v":1,"client_id":"c","transactions":[{"tx_id":7,"crud":[\#(operations.joined(separator: ","))]}]}"#
    }

    /// The marks of an entry as backends wrote them: of each operation its number and the beginning of its digest.
    private func marks(_ operations: [String]) throws -> String {
        try operations.map { text in
            let request = try UploadRequest(json: JSON.parse(body([text])))
            let operation = try #require(request.transactions.first?.operations.first)
            let number = String(UInt64(bitPattern: operation.opID ?? 0), radix: 16)
            let digest = Hexadecimal.encode(Digest.sha256(operation.json.utf8).prefix(8) + [])
            return String(repeating: "0", count: 16 - number.count) + number + digest
        }.joined()
    }

    /// The schema with what commit a37e9b9 left in it: one transaction applied, one rejected, one of a sender without ids.
    ///
    /// - Parameters:
    ///   - uri: the database.
    ///   - owner: the same, as the role that makes the schema.
    ///   - poller: watches the connections.
    /// - Throws: `PostgresError`.
    private func fill(_ uri: String, as owner: String, _ poller: Poller) async throws {
        let app = try await PostgresConnection.connect(uri, poller: poller)
        try await app.script(TestBackend.demoTables + TestBackend.counted)
        try await app.script("INSERT INTO lists (id, name) VALUES ('a', 'newer'); TRUNCATE writes")
        await app.close()
        let connection = try await PostgresConnection.connect(owner, poller: poller)
        try await connection.script(
            """
            CREATE SCHEMA psb;
            CREATE TABLE psb.schema_migrations (version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now());
            """)
        try await connection.script(BackendSchema.firstMigration)
        let rejected =
            #"{"status":"fatal_error","replayed":false,"requires_client_handling":false,"failed_operation":{"operation_index":0,"error_code":"CHECK_VIOLATION","message":"x"},"rejection_id":"0b1c8a52-0000-4000-8000-000000000001","ops":[{"i":0,"op_id":3,"status":"rejected","code":"CHECK_VIOLATION"}]}"#
        let bad = #"{"op_id":3,"op":"PUT","table":"lists","id":"b","data":{"name":"bad"}}"#
        for (first, last, marks, verdict, result) in [
            ("1", "2", try marks(operations), "1", nil), ("3", "3", try marks([bad]), "2", rejected),
        ] as [(String, String, String, String, String?)] {
            try await connection.query(
                """
                INSERT INTO psb.upload_ledger (user_id, client_id, first_op_id, last_op_id, tx_id, body_hash, op_hashes,
                    verdict, result) VALUES ('u1', 'c', $1::bigint, $2::bigint, 7, '\\x00', decode($3::text, 'hex'),
                    $4::smallint, $5::json)
                """, [first, last, marks, verdict, result])
        }
        try await connection.script(
            """
            INSERT INTO psb.upload_ledger (user_id, client_id, first_op_id, last_op_id, body_hash, verdict)
                VALUES ('u1', 'attempt:x', 0, 0, '\\x00', 1);
            INSERT INTO psb.schema_migrations (version) VALUES (1);
            """)
        await connection.close()
    }

    @Test func itsEntriesAreKnownAfterTheUpgrade() async throws {
        let poller = try Poller()
        let uri = try await TestPostgres.database(poller)
        try await fill(uri, as: uri, poller)
        try await expectEntries(uri)
        poller.stop()
    }

    /// The whole database, as a team upgrades it: the owner migrates, then the backend starts under a role of its own.
    @Test func anOwnerUpgradesItForABackendThatOwnsNothing() async throws {
        let poller = try Poller()
        try await TwoRoles.with(tables: "") { two in
            try await fill(two.superuser, as: two.owner, poller)
            try await two.asSuperuser("GRANT ALL ON ALL TABLES IN SCHEMA public TO \(two.backendRole)")
            let done = try await OperatorDesk(uri: two.owner).run(
                "migrate", "--role", two.backendRole, "--json"
            ).json
            #expect(done["found"] == .integer(1))
            #expect(done["applied"]?.arrayValue?.count == BackendSchema.version - 1)
            try await expectEntries(two.backend)
        }
        poller.stop()
    }

    /// A backend on the database knows what was sent before the upgrade, and goes on.
    private func expectEntries(_ uri: String) async throws {
        try await TestBackend.with(schema: "SELECT 1", uri: uri) { backend in
            #expect(try await backend.upload(body(operations)).states == ["replayed", "replayed"])
            #expect(try await backend.upload(body([operations[1]])).states == ["replayed"])
            let bad = #"{"op_id":3,"op":"PUT","table":"lists","id":"b","data":{"name":"bad"}}"#
            let good = #"{"op_id":4,"op":"PUT","table":"lists","id":"c","data":{"name":"good"}}"#
            let answer = try await backend.upload(body([bad, good]))
            #expect(answer.states == ["rejected", "applied"])
            #expect(
                answer.json["results"]?.arrayValue?[0]["rejection_id"]?.stringValue
                    == "0b1c8a52-0000-4000-8000-000000000001")
            #expect(try await backend.scalar("SELECT name FROM lists WHERE id = 'a'") == "newer")
            #expect(try await backend.scalar("SELECT string_agg(id, ',') FROM writes") == "c")
        }
    }

    /// What kept no rows of its letters: they are read where that is cheap, and the others are known not to have been.
    @Test func rowsOfItsLettersAreReadWhereThatIsCheap() async throws {
        try await TestBackend.with { backend in
            let connection = try await PostgresConnection.connect(backend.uri, poller: backend.poller)
            try await connection.script(
                """
                DELETE FROM psb.schema_migrations WHERE version > 3;
                ALTER TABLE psb.dead_letters DROP COLUMN row_ids, DROP COLUMN row_tables, DROP COLUMN replay_claims,
                    DROP COLUMN bytes, DROP COLUMN acked_at;
                DROP FUNCTION psb.take_letter(uuid, integer, boolean);
                DROP TABLE psb.attachments, psb.attachment_removals, psb.attachment_store, psb.attachment_usage,
                    psb.disabled_users;
                DROP FUNCTION psb.table_digest(text, text, name);
                DROP FUNCTION psb.open(text, text, text[], text[], text[], text, bigint, bigint, bigint, name);
                """)
            for (code, state, payload) in [
                (
                    "small", "open",
                    #"[{"id":"A0000000-0000-4000-8000-00000000000B"},{"id":7},{"id":null,"data":{"id":"d"}}]"#
                ),
                ("same", "open", #"[{"id":"a"},{"id":"a"},{"opData":{"id":"b"}},{"id":""}]"#),
                ("nul", "open", #"[{"id":"a","data":{"x":"\u0000"}}]"#),
                (
                    "long", "open",
                    #"[{"id":"a","data":{"x":"\#(String(repeating: "x", count: 2_000_000))"}}]"#
                ),
                ("gone", "discarded", "null"),
            ] {
                try await connection.query(
                    """
                    INSERT INTO psb.dead_letters (id, user_id, error_code, message, payload, claims, request_id, state)
                    VALUES (gen_random_uuid(), 'u1', $1::text, 'x', $2::json, '{}', 'r', $3::text)
                    """, [code, payload, state])
            }
            await connection.close()
            let newer = try await TestBackend.start(schema: "SELECT 1", uri: backend.uri)
            #expect(
                try await newer.query(
                    "SELECT error_code, array_to_string(row_ids, ' ') FROM psb.dead_letters ORDER BY 1") == [
                        ["gone", nil], ["long", nil], ["nul", nil], ["same", "a b"],
                        ["small", "7 a0000000-0000-4000-8000-00000000000b d"],
                    ])
            await newer.stop()
        }
    }

    /// What the versions before have made is replaced, whichever of them it is.
    @Test(arguments: [7, 8]) func theQuestionBeforeAnUploadIsReplaced(version: Int) async throws {
        try await TestBackend.with { backend in
            #expect(try await backend.upload(body(operations)).states == ["applied", "applied"])
            let connection = try await PostgresConnection.connect(backend.uri, poller: backend.poller)
            try await connection.script(
                """
                DELETE FROM psb.schema_migrations WHERE version > \(version);
                CREATE OR REPLACE FUNCTION psb.table_digest(schema_name text, table_name text, reader name) RETURNS text
                    LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN 'former'; END $$;
                CREATE OR REPLACE FUNCTION psb.open(claims text, subject text, schemas text[], tables text[],
                    digests text[], device text, first_op bigint, last_op bigint, considered bigint)
                    RETURNS void LANGUAGE plpgsql VOLATILE AS $$ BEGIN RAISE 'former'; END $$;
                CREATE OR REPLACE FUNCTION psb.open(claims text, subject text, schemas text[], tables text[],
                    digests text[], device text, first_op bigint, last_op bigint, considered bigint, reader name)
                    RETURNS void LANGUAGE plpgsql VOLATILE AS $$ BEGIN RAISE 'former'; END $$;
                """)
            if version < 8 {
                try await connection.script(
                    "ALTER TABLE psb.ledger ALTER op_ids SET STORAGE EXTENDED, ALTER op_hashes SET STORAGE EXTENDED"
                )
            }
            await connection.close()
            let newer = try await TestBackend.start(schema: "SELECT 1", uri: backend.uri)
            #expect(try await newer.upload(body(operations)).states == ["replayed", "replayed"])
            let next = #"{"op_id":3,"op":"PATCH","table":"lists","id":"a","data":{"name":"y"}}"#
            #expect(try await newer.upload(body([next])).states == ["applied"])
            #expect(
                try await newer.query(
                    """
                    SELECT string_agg(attstorage::text, ''), psb.table_digest('public', 'lists', NULL::name) = 'former',
                        (SELECT string_agg(version::text, ' ' ORDER BY version) FROM psb.schema_migrations)
                    FROM pg_attribute WHERE attrelid = 'psb.ledger'::regclass AND attname IN ('op_ids', 'op_hashes')
                    """) == [["ee", "f", (1...BackendSchema.version).map { "\($0)" }.joined(separator: " ")]])
            // As backends of before ask it.
            #expect(
                try await newer.query(
                    """
                    SELECT psb.open('{}'::text, 'u1'::text, ARRAY['public'], ARRAY['lists'],
                        ARRAY[psb.table_digest('public', 'lists')], NULL::text, NULL::bigint, NULL::bigint, NULL::bigint)
                    """) == [[""]])
            await newer.stop()
        }
    }

    /// The limits of uploads are not those of a migration, or of waiting for that of another backend.
    @Test func aMigrationTakesTheTimeThatItNeeds() async throws {
        let poller = try Poller()
        let uri = try await TestPostgres.database(poller)
        let other = try await PostgresConnection.connect(uri, poller: poller)
        try await other.query("SELECT pg_advisory_lock(\(0x505342))")
        async let starting = TestBackend.start(
            uri: uri,
            {
                $0.statementTimeout = TestOptions.standstill
                $0.lockTimeout = .milliseconds(100)
            })
        let longer = TestOptions.standstill.components.seconds + 2
        try await wait(
            for: "the start to wait for longer than an upload may",
            read: {
                try await other.query(
                    """
                    SELECT count(*)::text FROM pg_stat_activity WHERE datname = current_database()
                        AND wait_event = 'advisory' AND clock_timestamp() - query_start > interval '\(longer) seconds'
                    """
                ).scalar
            }, until: { $0 == "1" })
        try await other.query("SELECT pg_advisory_unlock(\(0x505342))")
        let backend = try await starting
        #expect(try await backend.scalar("SELECT count(*) > 0 FROM psb.schema_migrations") == "t")
        await other.close()
        await backend.stop()
        poller.stop()
    }

    /// A backend of before answers 503 and records nothing, whether its clients send ids or not.
    @Test func anEarlierBackendIsRefusedClearly() async throws {
        try await TestBackend.with { backend in
            let connection = try await PostgresConnection.connect(backend.uri, poller: backend.poller)
            for statement in [
                "SELECT psb.refuse_overlap('u'::text, 'c'::text, 1::bigint, 2::bigint)",
                """
                INSERT INTO psb.upload_ledger (user_id, client_id, first_op_id, generation, last_op_id, tx_id, body_hash,
                    op_hashes, verdict, result) VALUES ('u', 'attempt:x', 0, 0, 0, NULL, '\\x00', NULL, 1, NULL)
                """,
            ] {
                let error = await #expect(throws: PostgresError.self) {
                    try await connection.query(statement)
                }
                #expect(error?.sqlstate == "57P03", "\(String(describing: error))")
                #expect(error?.message.contains("older than the schema psb") == true)
            }
            #expect(DatabaseVerdict(sqlstate: "57P03").kind == .retry)
            await connection.close()
        }
    }
}
