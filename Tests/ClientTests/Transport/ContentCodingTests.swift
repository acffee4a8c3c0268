import PowerSyncCompression
import PowerSyncHTTP
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// How answers are decompressed, wherever they are cut.
@Suite(.patient()) struct ContentCodingTests {
    private static let lines = Array(
        (0..<20).map { "{\"token_expires_in\":\($0)}\n" }.joined().utf8)

    private func compressed(_ bytes: [UInt8], as format: CompressionFormat) -> [UInt8] {
        let compressor = Compressor(format)
        return compressor.compress(bytes) + compressor.finish()
    }

    /// Reads a body that comes in these pieces, and then ends.
    private func body(_ pieces: [[UInt8]], as format: CompressionFormat) async throws -> [UInt8] {
        let source = ScriptedStream(status: 200, headers: [])
        for piece in pieces { source.sendRaw(bytes: piece) }
        source.end()
        let stream = DecodedStream(source, format: format)
        var body: [UInt8] = []
        while let piece = try await stream.next() { body += piece }
        return body
    }

    @Test func theHeadSaysHowABodyIsCompressed() throws {
        let heads: [(fields: HTTPFields, format: CompressionFormat?)] = [
            ([:], nil), (["Content-Encoding": "identity"], nil), (["Content-Encoding": ""], nil),
            (["content-encoding": "gzip"], .gzip), (["Content-Encoding": "X-GZip"], .gzip),
            (["Content-Encoding": "zstd"], .zstd), (["Content-Encoding": " identity , ZSTD"], .zstd),
            (["Transfer-Encoding": "gzip"], nil),
        ]
        for (fields, format) in heads { #expect(try ContentCoding.format(fields) == format, "\(fields)") }
    }

    @Test func anotherCodingIsNamedAndRefused() {
        let heads: [(fields: HTTPFields, names: String)] = [
            (["Content-Encoding": "br"], "br"), (["Content-Encoding": "Deflate"], "deflate"),
            (["Content-Encoding": "gzip, zstd"], "gzip, zstd"),
            (["Content-Encoding": "gzip", "content-encoding": "gzip"], "gzip, gzip"),
        ]
        for (fields, names) in heads {
            let error = #expect(throws: SyncError.self) { try ContentCoding.format(fields) }
            #expect(error?.code == .unexpectedResponse)
            #expect(error?.message == "The answer is compressed as \(names), which was not asked for")
        }
    }

    @Test(arguments: [CompressionFormat.gzip, .zstd])
    func aBodyComesThroughWhereverItIsCut(format: CompressionFormat) async throws {
        let whole = compressed(Self.lines, as: format)
        for cut in 0...whole.count {
            let parts = [Array(whole[..<cut]), Array(whole[cut...])]
            #expect(try await body(parts, as: format) == Self.lines, "cut at \(cut)")
        }
        #expect(try await body(whole.map { [$0] }, as: format) == Self.lines)
        #expect(try await body([], as: format).isEmpty)
    }

    @Test(arguments: [CompressionFormat.gzip, .zstd])
    func aBodyThatEndsTooEarlyIsAnErrorBehindWhatItHeld(format: CompressionFormat) async throws {
        let whole = compressed(Self.lines, as: format)
        for count in 1..<whole.count {
            let error = await #expect(throws: SyncError.self, "\(count) bytes") {
                try await body([Array(whole[..<count])], as: format)
            }
            #expect(error?.code == .unexpectedResponse)
            #expect(error?.message == "The compressed answer ends too early")
        }
        let source = ScriptedStream(status: 200, headers: [])
        source.sendRaw(bytes: Compressor(format).compress(Self.lines))
        source.end()
        let stream = DecodedStream(source, format: format)
        #expect(try await stream.next() == Self.lines)
        await #expect(throws: SyncError.self) { try await stream.next() }
    }

    @Test(arguments: [CompressionFormat.gzip, .zstd])
    func whatIsNotCompressedAsItSaysIsAnError(format: CompressionFormat) async {
        let error = await #expect(throws: SyncError.self) {
            try await body([Array("{\"token_expires_in\":20}\n".utf8)], as: format)
        }
        #expect(error?.code == .unexpectedResponse)
        #expect(error?.message == "The answer cannot be decompressed")
    }

    /// The first of two pieces holds sixteen times as much as comes out at once.
    @Test(arguments: [CompressionFormat.gzip, .zstd])
    func moreIsTakenOnlyOnceAllThatCameIsAskedFor(format: CompressionFormat) async throws {
        let large = [UInt8](repeating: 7, count: 1 << 20)
        let compressor = Compressor(format)
        let source = ScriptedStream(status: 200, headers: [])
        source.sendRaw(bytes: compressor.compress(large))
        source.sendRaw(bytes: compressor.compress(Self.lines) + compressor.finish())
        source.end()
        let stream = DecodedStream(source, format: format)
        var received: [UInt8] = []
        while received.count < large.count {
            let piece = try #require(try await stream.next())
            #expect(piece.count <= 64 << 10)
            received += piece
            #expect(source.asked == 1)
        }
        #expect(received == large)
        #expect(try await stream.next() == Self.lines)
        #expect(source.asked == 2)
        #expect(try await stream.next() == nil)
    }

    @Test func theHeadAndTheEndAreThoseOfTheResponse() async throws {
        let header = SyncHTTPHeader("Content-Type", "application/x-ndjson")
        let source = ScriptedStream(status: 200, headers: [header])
        let stream = DecodedStream(source, format: .zstd)
        #expect(stream.status == 200)
        #expect(stream.headers == [header])
        source.cut()
        await #expect(throws: ScriptError.self) { try await stream.next() }
        stream.cancel()
        #expect(source.isCancelled)
    }
}
