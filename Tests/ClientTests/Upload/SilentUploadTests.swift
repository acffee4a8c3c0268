import PowerSyncHTTPClient
import PowerSyncSQLite
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// A connection to the backend that was silent is replaced at once, as one to the service is (client-api 2.3).
@Suite(.patient())
struct SilentUploadTests {
    /// A connector whose uploads fail as those of a `BackendConnector` do; one that succeeds takes the oldest entry.
    private func rig(_ failures: [Int: HTTPClientError.Code]) async throws -> SyncRig {
        try await SyncRig(
            transport: ScriptedTransport(answers: [.writeCheckpoint(1)]),
            upload: { number, pool in
                if let code = failures[number] { throw PowerSyncError(backend: HTTPClientError(code, "why")) }
                try await pool.write {
                    try $0.run("DELETE FROM ps_crud WHERE id = (SELECT min(id) FROM ps_crud)")
                }
            })
    }

    @Test func aSilentUploadIsRepeatedAtOnceAndThenAfterTheDelay() async throws {
        let rig = try await rig([1: .silent, 2: .silent])
        try await rig.writeLocally()
        try await SyncRig.run(rig) { rig in
            _ = try await rig.stream(0)
            try await wait(for: "the retry delay") { rig.clock.waiting.contains(.seconds(5)) }
            #expect(rig.uploads == 2)
            #expect((await rig.status.uploadError as? PowerSyncError)?.code == .connectionSilent)
            rig.clock.advance(by: .seconds(5))
            try await wait(for: "the error to go") { await rig.status.uploadError == nil }
            #expect(rig.uploads == 3)
        }
    }

    @Test func anUploadThatSucceedsEndsTheSilence() async throws {
        let rig = try await rig([1: .silent, 3: .silent])
        for id in ["a", "b"] { try await rig.writeLocally(id) }
        try await SyncRig.run(rig) { rig in
            _ = try await rig.stream(0)
            try await wait(for: "the write checkpoint") {
                try await rig.database.write { try $0.target() } == 1
            }
            #expect(rig.uploads == 4)
            #expect(rig.clock.now == .zero)
        }
    }

    /// No connection, or no end of the answer, in time is no silence.
    @Test(arguments: [HTTPClientError.Code.timedOut, .cut, .couldNotConnect, .other])
    func anyOtherFailureIsRepeatedAfterTheDelay(_ code: HTTPClientError.Code) async throws {
        let rig = try await rig([1: code])
        try await rig.writeLocally()
        try await SyncRig.run(rig) { rig in
            _ = try await rig.stream(0)
            try await wait(for: "the retry delay") { rig.clock.waiting.contains(.seconds(5)) }
            #expect(rig.uploads == 1)
        }
    }
}
