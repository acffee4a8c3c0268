import PowerSyncHTTPClient
import PowerSyncHTTPServer
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSyncBackend

/// The disk store over a socket, with the checks that an S3 store has.
@Suite(.patient())
struct DiskStoreConformanceTests {
    @Test(arguments: ObjectStoreConformance.Check.allCases)
    func doesWhatEveryStoreMust(_ check: ObjectStoreConformance.Check) async throws {
        let fixture = try DiskStoreFixture()
        defer { fixture.temporary.remove() }
        try await fixture.serve { _ in
            let client = try HTTPClient()
            defer { client.close() }
            try await ObjectStoreConformance(
                store: fixture.store, client: client, now: { fixture.now }
            ).run(check)
        }
        #expect(try fixture.files("incoming").isEmpty)
        guard Processes.areOpenFilesKnown else { return }
        // The thread that has read the last piece closes the file behind the answer.
        try await wait(for: "all files to be closed", read: { try fixture.openFiles }, until: \.isEmpty)
    }
}
