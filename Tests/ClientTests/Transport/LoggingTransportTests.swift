import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSync

/// What is logged of the lines of a stream (client-api 1.7).
@Suite(.patient()) struct LoggingTransportTests {
    private static let lines = [
        SyncLines.checkpoint(2, [.init("b[\"ü\"]", checksum: -11, count: 2)]), SyncLines.tokenExpires(in: 20),
        SyncLines.data("b[\"ü\"]", SyncLines.put(1, "r1", checksum: 5), SyncLines.remove(2, "r2")),
        SyncLines.complete(2),
    ]
    private static let text = Array(lines.map { $0 + "\r\n" }.joined().utf8)

    private func documents() throws -> [UInt8] { try Self.lines.flatMap { try BSONWriter.document($0) } }

    /// Reads a stream through the log; returns what was logged behind the head.
    private func logged(
        _ bytes: [UInt8], _ type: String, cutInto size: Int, level: SyncRequestLogLevel = .body
    ) async throws -> [String] {
        let scripted = ScriptedTransport(types: [type])
        let logged = Lock<[String]>([])
        let transport = LoggingTransport(
            scripted,
            configuration: SyncRequestLoggerConfiguration(requestLevel: level) { line in
                logged.withLock { $0.append(line) }
            })
        let stream = try await transport.open(
            SyncHTTPRequest(method: "POST", url: "https://service.test/sync/stream", headers: []))
        logged.withLock { $0 = [] }
        for start in stride(from: 0, to: bytes.count, by: size) {
            scripted.streams[0].sendRaw(bytes: Array(bytes[start..<min(start + size, bytes.count)]))
        }
        scripted.streams[0].end()
        var received: [UInt8] = []
        while let piece = try await stream.next() { received += piece }
        #expect(received == bytes)
        return logged.withLock { $0 }
    }

    private let expected = Self.lines.map { "Response line: \($0)" } + ["End of response"]

    @Test(arguments: [1, 2, 7, 64, 10_000]) func linesInBSONAreLoggedAsJSON(size: Int) async throws {
        let documents = try documents()
        let type = "Application/VND.powersync.bson-stream; x=y"
        #expect(try await logged(documents, type, cutInto: size) == expected)
        #expect(try await logged(documents, type, cutInto: size, level: .all) == expected)
    }

    @Test(arguments: [1, 2, 7, 64, 10_000]) func linesOfTextAreLoggedAsTheyCome(size: Int) async throws {
        #expect(try await logged(Self.text, "application/x-ndjson", cutInto: size) == expected)
    }

    @Test func noLineIsLoggedWhereBodiesAreNot() async throws {
        for level in [SyncRequestLogLevel.headers, .info, .none] {
            #expect(try await logged(Self.text, "application/x-ndjson", cutInto: 64, level: level).isEmpty)
        }
    }

    @Test func aDocumentThatIsNoJSONIsToldByItsSize() {
        var texts = LineTexts(.bson)
        // An ObjectId, which JSON has no counterpart for.
        let document: [UInt8] = [20, 0, 0, 0, 7, 97, 0] + [UInt8](repeating: 1, count: 12) + [0]
        let logged = texts.append(document + SyncLine.tokenExpiresIn(20).encodedBSON())
        #expect(logged.count == 2)
        #expect(logged.first?.hasPrefix("(20 bytes that are no JSON: ") == true)
        #expect(logged.last == "{\"token_expires_in\":20}")
    }

    @Test(arguments: [SyncLineFormat.json, .bson])
    func behindALineThatIsTooLongNothingIsLoggedAndThatIsSaid(format: SyncLineFormat) {
        var texts = LineTexts(format)
        let short = Array("{\"token_expires_in\":20}\n".utf8)
        let long: [UInt8]
        switch format {
        case .json: long = short + [UInt8](repeating: UInt8(ascii: "x"), count: LineTexts.lineLimit + 2)
        case .bson: long = SyncLine.tokenExpiresIn(20).encodedBSON() + [1, 0, 16, 0]
        }
        let logged = texts.append(long)
        #expect(logged.count == 2)
        #expect(logged.first == "{\"token_expires_in\":20}")
        let kind = format == .json ? "line" : "document"
        #expect(
            logged.last == "(a \(kind) has more than 1048576 bytes; nothing more of this response is logged)")
        #expect(texts.append(short).isEmpty)
    }
}
