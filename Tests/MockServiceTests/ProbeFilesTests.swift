import Foundation
import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncMockService
import PowerSyncPostgresServer
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Service 1.9, 8.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct ProbeFilesTests {
    private static let config = "config: {edition: 3}\nstreams: {lists: {query: SELECT * FROM lists}}"

    private func names(_ folder: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
    }

    @Test func theProbesAreFilesWhereTheConfigurationWantsThem() async throws {
        let folder = try TemporaryDirectory(prefix: "probes-")
        defer { folder.remove() }
        let place = folder.path + "/.probes"
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        // Of a process that was killed.
        try Data().write(to: URL(fileURLWithPath: place + "/ready"))
        try await TestService.run(["CREATE TABLE lists (id text PRIMARY KEY)"]) { service in
            try await service.start(Self.config) {
                $0.probes.folder = place
                $0.probes.usesHTTP = false
            }
            try await wait(for: "the files") {
                names(place)
            } until: {
                $0 == ["poll", "ready", "startup"]
            }
            let ready = try Data(contentsOf: URL(fileURLWithPath: place + "/ready"))
            #expect(try JSON.parse(Array(ready))["ready"]?.boolValue == true)
            let first = try Data(contentsOf: URL(fileURLWithPath: place + "/poll"))
            try await wait(for: "the sign of life to be written again") {
                try Data(contentsOf: URL(fileURLWithPath: place + "/poll")) != first
            }
            for probe in ["startup", "liveness", "readiness"] {
                let answer = try await service.send("GET", "/probes/\(probe)", token: "")
                #expect(answer.status == 404 && answer.fields["access-control-allow-origin"] == "*")
            }
            await service.stop()
            #expect(names(place).isEmpty)
        }
    }

    /// One file that cannot be written keeps no other from telling that the service is not ready any more.
    @Test func whatIsNotReadyDoesNotSaySoWhateverElseFails() async throws {
        let folder = try TemporaryDirectory(prefix: "probes-")
        defer { folder.remove() }
        let place = folder.path + "/.probes"
        try await TestCluster.withServer { server in
            try await TestService.run(["CREATE TABLE lists (id text PRIMARY KEY)"], uri: server.uri()) {
                service in
                try await service.start(Self.config) { $0.probes.folder = place }
                try await wait(for: "the files") {
                    names(place)
                } until: {
                    $0 == ["poll", "ready", "startup"]
                }
                // Nothing can be renamed to the name of a folder that holds something.
                try await wait(for: "such a folder, although the file is written again and again") {
                    try? FileManager.default.removeItem(atPath: place + "/startup")
                    return
                        (try? FileManager.default.createDirectory(
                            atPath: place + "/startup/full", withIntermediateDirectories: true)) != nil
                }
                try await wait(for: "the failure to be told") {
                    service.log.contains { $0.contains("a probe's file cannot be written") }
                }
                server.kill()
                try await wait(for: "the file to go") {
                    names(place)
                } until: {
                    !$0.contains("ready") && $0.contains("poll")
                }
            }
        }
    }

    @Test func withoutTheSectionThereAreNoFilesAndHTTPAnswers() async throws {
        // Where the configuration wants them, if it does.
        let place = FileManager.default.currentDirectoryPath + "/.probes"
        try #require(!FileManager.default.fileExists(atPath: place))
        try await TestService.run(["CREATE TABLE lists (id text PRIMARY KEY)"]) { service in
            try await service.start(Self.config)
            #expect(try await service.send("GET", "/probes/readiness", token: "").status == 200)
            #expect(!FileManager.default.fileExists(atPath: place))
            #expect(try service.stateFiles.allSatisfy { $0.hasPrefix("state.db") })
        }
    }
}
