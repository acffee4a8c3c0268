import PowerSync
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@Suite(.patient())
struct ClientIDTests {
    @Test func theIdIsThatOfTheFileAndOutlivesClearing() async throws {
        let folder = try TemporaryDirectory()
        let test = try TestDatabase(folder: folder)
        let id = try await test.database.getClientId()
        let stored = try await test.database.get("SELECT value FROM ps_kv WHERE key = 'client_id'") {
            try $0.getString(index: 0)
        }
        #expect(id == stored && id.count == 36)
        try await test.database.disconnectAndClear()
        #expect(try await test.database.getClientId() == id)
        try await test.database.close()
        let again = try TestDatabase(folder: folder)
        #expect(try await again.database.getClientId() == id)
        try await again.database.close()
        let other = try TestDatabase()
        #expect(try await other.database.getClientId() != id)
        try await other.database.close()
    }

    @Test func attachmentsHaveTheNameOfTheOfficialTable() {
        #expect(defaultAttachmentsTableName == "attachments")
    }
}
