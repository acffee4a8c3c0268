import Foundation
import PowerSyncPostgresServer
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@Suite(.patient())
struct PostgresBinariesTests {
    @Test func saysWhatToInstall() async throws {
        let nowhere = PostgresBinaries.Places(
            searchPath: [], versioned: ["/nowhere"], fixed: ["/nowhere/bin"])
        let error = await #expect(throws: PostgresServerError.self) {
            try await PostgresBinaries.find(in: nowhere)
        }
        #expect(error?.code == .missingBinaries)
        #expect(error?.description.contains("apt-get install postgresql") == true)
        #expect(error?.description.contains("\n") == false)
        let started = await #expect(throws: PostgresServerError.self) {
            _ = try await PostgresServer.start(places: nowhere)
        }
        #expect(started?.code == .missingBinaries)
    }

    @Test func believesPgConfigFirstThenTheNewestVersion() async throws {
        let root = try TemporaryDirectory(prefix: "pg-binaries")
        defer { root.remove() }
        for folder in ["9.6/bin", "15/bin", "postgresql@17/bin", "of-config", "16/share"] {
            try makePrograms(
                in: "\(root.path)/\(folder)", folder == "16/share" ? ["initdb"] : ["initdb", "postgres"])
        }
        let versions = PostgresBinaries.Places(searchPath: [], versioned: [root.path], fixed: [])
        #expect(try await PostgresBinaries.find(in: versions).directory == "\(root.path)/postgresql@17/bin")
        var both = versions
        both.searchPath = ["\(root.path)/path"]
        try makePrograms(
            in: "\(root.path)/path", ["pg_config"],
            script: "[ \"$1\" = --bindir ] && echo '\(root.path)/of-config'")
        // A program cannot be run while a child of another test, just forked, has it open for writing.
        try await wait(
            for: "pg_config to be believed", read: { try await PostgresBinaries.find(in: both).directory },
            until: { $0 == "\(root.path)/of-config" })
        // libpq-dev alone has a pg_config that names a folder without a server.
        try makePrograms(in: "\(root.path)/path", ["pg_config"], script: "echo '\(root.path)/16/share'")
        #expect(try await PostgresBinaries.find(in: both).directory == "\(root.path)/postgresql@17/bin")
    }

    @Test(arguments: [
        (
            "LOG:  could not bind IPv4 address \"127.0.0.1\": Address already in use\nFATAL:  could not create any TCP/IP sockets",
            ServerFailure.portInUse
        ),
        ("FATAL:  lock file \"postmaster.pid\" already exists", .directoryInUse),
        ("FATAL:  pre-existing shared memory block (key 1, ID 2) is still in use", .sharedMemoryInUse),
        ("LOG:  x\nFATAL:  no\nDETAIL:  because\n", .other("FATAL:  no; DETAIL:  because")),
        ("", .other("it gave no reason")),
    ])
    func readsTheReasonInTheLog(log: String, failure: ServerFailure) {
        #expect(ServerFailure(log: log) == failure)
    }

    private func makePrograms(in folder: String, _ names: [String], script: String = "exit 1") throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for name in names {
            try "#!/bin/sh\n\(script)\n".write(
                toFile: "\(folder)/\(name)", atomically: false, encoding: .utf8)
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o755], ofItemAtPath: "\(folder)/\(name)")
        }
    }
}
