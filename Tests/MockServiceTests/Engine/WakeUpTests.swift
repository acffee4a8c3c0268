import PowerSyncCompression
import PowerSyncHTTPClient
import PowerSyncPostgres
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncMockService
@testable import PowerSyncServiceEngine

/// Who wakes (DESIGN.md, 7): 1,000 streams over a store, with sinks that record.
@Suite(.patient())
struct WakeUpTests {
    private static let count = 1000

    /// Opens streams that hold a bucket of their own each, and one that all hold.
    private func withStreams(_ body: (SessionRig, [SessionRig.Stream]) async throws -> Void) async throws {
        try await SessionRig.run { rig in
            try await rig.commit([.insert(SessionRig.row("first", "all"))])
            var streams: [SessionRig.Stream] = []
            for number in 0..<Self.count {
                streams.append(try await rig.open(["u\(number)", "all"], key: "k\(number)"))
            }
            try await rig.rest()
            try await body(rig, streams)
        }
    }

    @Test func commitsOfOthersWakeNobody() async throws {
        try await withStreams { rig, streams in
            let lines = streams.map(\.sink.texts.count)
            let before = try rig.wakeups()
            // Of tables that nobody syncs.
            try await rig.pass(500)
            #expect(rig.publisher.current?.checkpoint.lsn == rig.position)
            #expect(rig.publisher.sessionsBehind == 0)
            for number in 0..<250 {
                // Of buckets that nobody holds.
                try await rig.commit([.insert(SessionRig.row("r\(number)", "nobody"))])
                #expect(rig.publisher.sessionsBehind == 0)
            }
            #expect(try rig.wakeups() == before)
            // One stream alone, whose write checkpoint is reached, and one alone whose bucket changes.
            try await rig.takeWriteCheckpoint("k7", at: rig.position(behind: 10))
            try await rig.commit()
            #expect(try rig.wakeups() == before + 1)
            try await rig.commit([.insert(SessionRig.row("own", "u8"))])
            #expect(try rig.wakeups() == before + 2)
            try await rig.rest()
            #expect(streams[7].sink.model.writeCheckpoint == 1)
            #expect(streams[8].sink.model.rowNames == ["t/first", "t/own"])
            for (number, stream) in streams.enumerated() where number != 7 && number != 8 {
                #expect(stream.sink.texts.count == lines[number])
            }
        }
    }

    @Test func aCommitThatAllHoldWakesEachOnce() async throws {
        try await withStreams { rig, streams in
            let lines = streams.map(\.sink.texts.count)
            let before = try rig.wakeups()
            try await rig.commit([.insert(SessionRig.row("second", "all"))])
            #expect(try rig.wakeups() == before + Self.count)
            try await rig.rest()
            #expect(try rig.wakeups() == before + Self.count)
            for (number, stream) in streams.enumerated() {
                #expect(stream.sink.model.rowNames == ["t/first", "t/second"])
                // The difference, the operation, and that it is complete.
                #expect(stream.sink.texts.count == lines[number] + 3)
            }
        }
    }
}

/// What 1,000 streams send of one commit is made once.
@Suite(.patient())
struct SharedFrameTests {
    @Test func theFrameOfACommitIsEncodedOnceForAThousandStreams() async throws {
        func isGzipped(_ number: Int) -> Bool { number.isMultiple(of: 2) }
        try await SessionRig.run { rig in
            let compressors = BlockCompressors()
            var sinks: [SteppingSink] = []
            var tasks: [Task<Void, any Error>] = []
            for number in 0..<1000 {
                let sink = SteppingSink()
                let loop = try rig.attach(["all"])
                let view = try await loop.firstView()
                let compression: CompressionFormat? = isGzipped(number) ? .gzip : nil
                sinks.append(sink)
                tasks.append(
                    Task {
                        try await loop.run(
                            StreamSession(positions: [], streams: []), view,
                            LineEncoder(.raw, compression: compression, compressors), sink)
                    })
            }
            try await rig.rest()
            try await rig.commit([.insert(SessionRig.row("r1", "all"))])
            try await rig.rest()
            #expect(rig.frameReads == 0)
            // The pieces of the only line with operations: what stands before them, they, and what stands behind.
            let pieces = sinks.map(\.dataPieces)
            #expect(pieces.allSatisfy { $0.count == 3 })
            for form in [true, false] {
                let middle = pieces.indices.filter { isGzipped($0) == form }.map { pieces[$0][1] }
                #expect(middle.count == 500 && Set(middle.map { ObjectIdentifier($0) }).count == 1)
            }
            let ends = pieces.flatMap { [$0[0], $0[2]] }
            #expect(Set(ends.map { ObjectIdentifier($0) }).count == 2000)
            // It is held once, beside its bytes in two forms.
            #expect(rig.frames.keptBytes < 4 << 10)
            for task in tasks { task.cancel() }
        }
    }
}

/// B12 of the review, over HTTP and a real Postgres.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct WakeUpServiceTests {
    /// A table that the configuration does not name is published all the same: FOR ALL TABLES.
    private static let schema = ReplicationServiceTests.schema + ["CREATE TABLE audit(id int PRIMARY KEY)"]

    private func metrics(_ service: TestService) async throws -> [String: Double] {
        let answer = try await service.metrics("/metrics")
        let lines = String(decoding: answer.body, as: UTF8.self).split(separator: "\n")
        return Dictionary(
            uniqueKeysWithValues: lines.filter { !$0.hasPrefix("#") }.map {
                let parts = $0.split(separator: " ")
                return (String(parts[0].dropFirst("powersync_".count)), Double(parts[1]) ?? -1)
            })
    }

    /// All of it while nobody can read the state: whoever is at the head has no need to.
    @Test func commitsOfOthersWakeNobody() async throws {
        try await TestService.run(Self.schema) { service in
            // No time passes, so that there are no lines but those of the rows.
            try await service.start(
                ReplicationServiceTests.config, clock: ManualClock(service.now).clock
            ) {
                $0.metricsPort = 0
                $0.maxDataFetchConcurrency = 1
            }
            var streams: [TestStream] = []
            for number in 0..<5 {
                let stream = try await service.open(SyncStreamRequest(clientID: "c\(number)"))
                try await stream.holds(["lists/l1"])
                streams.append(stream)
            }
            try await wait(for: "nobody to be behind") {
                try await metrics(service)
            } until: {
                $0["sessions_behind"] == 0
            }
            let lines = streams.map(\.texts.count)
            let before = try #require(try await metrics(service)["session_wakeups_total"])
            let gate = BlockingGate()
            defer { gate.open() }
            let busy = try await service.occupyReaders(1, until: gate)
            for number in 0..<10 { try await service.tx("INSERT INTO audit VALUES (\(number))") }
            // Behind those: of a user without a stream.
            let checkpoint = service.checkpoint
            try await service.tx("INSERT INTO lists VALUES ('other', 'u2', '')")
            try await wait(for: "the last of the commits") { service.checkpoint > checkpoint }
            let after = try await metrics(service)
            #expect(after["sessions_behind"] == 0)
            #expect(after["session_wakeups_total"] == before)
            // Who waits for a write checkpoint is told.
            #expect(try await service.writeCheckpoint(client: "c3") == 1)
            try await streams[3].holds("the write checkpoint") { $0.writeCheckpoint == 1 }
            #expect(try await metrics(service)["session_wakeups_total"] == before + 1)
            try await service.tx("INSERT INTO lists VALUES ('mine', 'u1', '')")
            for stream in streams { try await stream.holds(["lists/l1", "lists/mine"]) }
            gate.open()
            for reader in busy { try await reader.value }
            #expect(try await metrics(service)["session_wakeups_total"] == before + 6)
            for (number, stream) in streams.enumerated() {
                // A difference, an operation and its completion; the write checkpoint has no operation.
                #expect(stream.texts.count == lines[number] + (number == 3 ? 5 : 3))
            }
        }
    }
}
