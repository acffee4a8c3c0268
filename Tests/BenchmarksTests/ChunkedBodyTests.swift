import Testing

@testable import PowerSyncBenchmarks

@Suite struct ChunkedBodyTests {
    private static let text = Array("4\r\nWiki\r\n0A\r\n0123456789\r\n0\r\n\r\n".utf8)

    @Test(arguments: 0..<text.count) func isTheSameWhereverItIsCut(at cut: Int) throws {
        var body = ChunkedBody()
        var content: [UInt8] = []
        try body.take(Self.text[..<cut], into: &content)
        #expect(!body.isOver || cut >= Self.text.count - 2)
        try body.take(Self.text[cut...], into: &content)
        #expect(String(decoding: content, as: UTF8.self) == "Wiki0123456789")
        #expect(body.isOver)
    }

    @Test(arguments: ["four\r\n", "\r\n", "4\r\nWikipedia", "4\r\nWiki\n", "123456789\r\n"])
    func whatIsNotInChunksIsAnError(text: String) {
        var body = ChunkedBody()
        var content: [UInt8] = []
        #expect(throws: BenchmarkError.self) { try body.take(Array(text.utf8)[...], into: &content) }
    }
}
