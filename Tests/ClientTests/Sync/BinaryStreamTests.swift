import PowerSync
import PowerSyncSQLite
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// A service that answers with lines in BSON (client-core 5.1).
@Suite(.patient()) struct BinaryStreamTests {
    private static let mediaType = "application/vnd.powersync.bson-stream"

    private func documents(_ lines: [String]) throws -> [[UInt8]] {
        try lines.map { try SyncLine(parsing: Array($0.utf8)).encodedBSON() }
    }

    private let lines = [
        SyncLines.checkpoint(2, [.init("b", checksum: 11, count: 2)]),
        SyncLines.data("b", SyncLines.put(1, "r1", checksum: 5)),
        SyncLines.data("b", SyncLines.put(2, "r2", checksum: 6)), SyncLines.complete(2),
    ]

    private func rig(_ change: (inout SyncOptions) -> Void = { _ in }) async throws -> SyncRig {
        let transport = ScriptedTransport()
        transport.setContentType(Self.mediaType)
        return try await SyncRig(transport: transport, options: change)
    }

    private func accepted(_ rig: SyncRig) -> String? {
        rig.transport.requests.first?.headers.first { $0.name == "Accept" }?.value
    }

    @Test(arguments: [1, 3, 64, 10_000]) func takesDocumentsWhereverTheyAreCut(_ size: Int) async throws {
        let documents = try documents(lines)
        try await SyncRig.run(try await rig()) { rig in
            let stream = try await rig.stream(0)
            let bytes = Array(documents.joined())
            for start in stride(from: 0, to: bytes.count, by: size) {
                stream.sendRaw(bytes: Array(bytes[start..<min(start + size, bytes.count)]))
            }
            try await wait(for: "the complete checkpoint") { await !rig.status.priorities.isEmpty }
            #expect(try await rig.items() == ["r1", "r2"])
            #expect(accepted(rig) == "\(Self.mediaType);q=0.9,application/x-ndjson;q=0.8")
            // The download size counts documents as they came (client-core 6.6).
            #expect(
                try await rig.rows("SELECT downloaded_size FROM ps_buckets")
                    == [[.integer(Int64(documents[1].count + documents[2].count))]])
        }
    }

    @Test func takesTextThoughItAskedForDocuments() async throws {
        try await SyncRig.run(try await SyncRig()) { rig in
            let stream = try await rig.stream(0)
            for line in lines { stream.send(line) }
            try await wait(for: "the complete checkpoint") { await !rig.status.priorities.isEmpty }
            #expect(accepted(rig)?.hasPrefix(Self.mediaType) == true)
        }
    }

    @Test func takesDocumentsThatItDidNotAskFor() async throws {
        let documents = try documents(lines)
        try await SyncRig.run(try await rig { $0.prefersBinaryLines = false }) { rig in
            let stream = try await rig.stream(0)
            stream.sendRaw(bytes: Array(documents.joined()))
            try await wait(for: "the complete checkpoint") { await !rig.status.priorities.isEmpty }
            #expect(accepted(rig) == "application/x-ndjson")
        }
    }

    @Test func keepsWhatCameBeforeABrokenDocument() async throws {
        let documents = try documents(lines)
        try await SyncRig.run(try await rig()) { rig in
            let stream = try await rig.stream(0)
            stream.sendRaw(bytes: Array(documents.dropLast().joined()) + [6, 0, 0, 0, 99, 0])
            try await wait(for: "a pause") { rig.clock.waiting.contains(.seconds(5)) }
            let error = await rig.status.downloadError as? SyncError
            #expect(error?.code == .protocolViolation)
            #expect(error?.message == "invalid binary line")
            #expect(try await rig.rows("SELECT last_op FROM ps_buckets") == [[2]])
        }
    }

    @Test func aStreamThatEndsWithinADocumentIsAnError() async throws {
        let documents = try documents(lines)
        try await SyncRig.run(try await rig()) { rig in
            let stream = try await rig.stream(0)
            stream.sendRaw(bytes: documents[0] + documents[1].dropLast())
            stream.end()
            try await wait(for: "a pause") { rig.clock.waiting.contains(.seconds(5)) }
            let error = await rig.status.downloadError as? SyncError
            #expect(error?.code == .unexpectedResponse)
        }
    }
}
