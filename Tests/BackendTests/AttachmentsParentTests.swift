import PowerSyncBackend
import PowerSyncHTTP
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Attachments of rows that name rows of other tables (Backend/Attachments/SPEC.md).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct AttachmentsParentTests {
    /// A list has a column with the name of the one that names it.
    private static let schema = """
        CREATE TABLE lists (id text PRIMARY KEY, owner_id text NOT NULL, list_id text);
        CREATE TABLE notes (id text PRIMARY KEY, owner_id text NOT NULL, list_id text, photo_id text);
        INSERT INTO lists VALUES ('hers', 'alice', 'his'), ('his', 'bob', NULL);
        INSERT INTO notes VALUES ('a', 'alice', 'hers', 'in-hers'), ('b', 'alice', 'his', 'in-his'),
            ('c', 'alice', NULL, 'in-none'), ('d', 'alice', 'gone', 'in-gone'), ('e', 'bob', 'his', 'bobs');
        """
    private static let map = """
        tables:
          lists: { owner: owner_id }
          notes: { owner: owner_id, parents: { list_id: lists }, attachments: [photo_id] }
        """

    private func withFiles(
        _ body: (TestBackend, (String, String, String) async throws -> Int) async throws -> Void
    ) async throws {
        try await AttachmentsFixture.withScripted(schema: Self.schema, map: Self.map) { fixture, _ in
            let backend = fixture.backend
            let token = try await backend.token("alice")
            let fields: HTTPFields = ["authorization": "Bearer \(token)"]
            try await body(backend) { method, path, id in
                let question = AttachmentsFixture.question(id, [1]).json.text
                return try await backend.send(
                    method, "/api/v1/attachments/\(path)", method == "POST" ? question : nil, fields: fields
                ).status
            }
        }
    }

    @Test func aRowGivesRightsIfItsParentIsTheCallers() async throws {
        try await withFiles { _, ask in
            for (id, status) in [
                ("in-hers", 200), ("in-none", 200), ("in-his", 404), ("in-gone", 404), ("bobs", 404),
            ] {
                let found = try await ask("POST", "upload-url", id)
                #expect(found == status, "\(id)")
            }
        }
    }

    /// A list that was given away takes the right to the file along, and not the file.
    @Test func whatKeepsAFileAsksForNoParent() async throws {
        try await withFiles { backend, ask in
            #expect(try await ask("POST", "upload-url", "in-hers") == 200)
            _ = try await backend.query("UPDATE lists SET owner_id = 'bob'")
            #expect(try await ask("POST", "upload-url", "in-hers") == 404)
            #expect(try await ask("GET", "in-hers/download-url", "in-hers") == 404)
            #expect(try await ask("DELETE", "in-hers", "in-hers") == 409)
            _ = try await backend.query("UPDATE lists SET owner_id = 'alice'")
            #expect(try await ask("POST", "upload-url", "in-hers") == 200)
        }
    }
}
