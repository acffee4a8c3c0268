import Foundation
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// N3: what a row takes that is as large as one may be (DESIGN.md, 3), in a process of its own, whose memory is that of the
/// service.
@Suite(
    .enabled(if: TestOptions.hasDatabase && !TestOptions.hasSanitizer && Processes.areOpenFilesKnown),
    .patient())
struct LargeRowTests {
    /// Just below 15 MiB with what stands beside it.
    static let size = 15_700_000
    private static let config = """
        config: {edition: 3}
        streams:
          s: {auto_subscribe: true, query: SELECT * FROM t}
        """

    @Test(arguments: ["told", "read"])
    func aRowOfFifteenMegabytesTakesSixTimesItsSize(way: String) async throws {
        let poller = try Poller()
        let (first, second) = (
            try await TestPostgres.database(poller), try await TestPostgres.database(poller)
        )
        poller.stop()
        try await ProcessTurn.take {
            await #expect(processExitsWith: .success) {
                [first = first as String, second = second as String, way = way as String] in
                // As the program does first.
                Memory.mapsLargePieces()
                // What a process makes once is there then.
                _ = try await LargeRowTests.memoryTaken(first, bytes: 10, isRead: way == "read")
                let taken = try await LargeRowTests.memoryTaken(
                    second, bytes: LargeRowTests.size, isRead: way == "read")
                let times = Double(taken) / Double(LargeRowTests.size)
                #expect(times > 1 && times <= 6, "\(taken) bytes")
            }
        }
    }

    /// Replicates a row, from the stream or as a part of the snapshot; returns what that took at most.
    static func memoryTaken(_ uri: String, bytes: Int, isRead: Bool) async throws -> Int {
        let insert = "INSERT INTO t VALUES ('1', repeat('x', \(bytes)))"
        let schema = ["CREATE TABLE t(id text PRIMARY KEY, big text)"] + (isRead ? [insert] : [])
        let taken = Lock(0)
        try await TestService.run(schema, uri: uri) { service in
            if !isRead { try await service.start(config) }
            let before = memory("VmRSS:")
            forgetPeak()
            if isRead { try await service.start(config) } else { try await service.tx(insert) }
            try await wait(for: "the row") { service.checkpoint == 1 }
            taken.withLock { $0 = memory("VmHWM:") - before }
        }
        return taken.withLock { $0 }
    }

    /// A line of what the system tells of this process, in bytes (proc(5)); 0 if there is none.
    private static func memory(_ name: String) -> Int {
        let status = FileManager.default.contents(atPath: "/proc/self/status") ?? Data()
        let line = String(decoding: status, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix(name) }
        let kilobytes = line?.split { $0 == " " || $0 == "\t" }.dropFirst().first
        return kilobytes.flatMap { Int($0) }.map { $0 * 1024 } ?? 0
    }

    /// Lets the peak begin anew.
    private static func forgetPeak() {
        FileHandle(forWritingAtPath: "/proc/self/clear_refs")?.write(Data("5".utf8))
    }
}
