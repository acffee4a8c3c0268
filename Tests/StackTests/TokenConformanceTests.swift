import Foundation
import PowerSyncStack
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// Recorded tokens with another result than they had.
@Suite struct TokenConformanceTests {
    /// Judges one recorded token.
    ///
    /// - Parameters:
    ///   - part: what its line has, which tells it from the others.
    ///   - change: changes the line.
    /// - Returns: what was printed, and whether all passed.
    /// - Throws: what the run throws.
    private func judge(_ part: String, _ change: (inout String) -> Void = { _ in }) throws -> [String] {
        let lines = try Repository.text("Tests/Fixtures/tokens/tokens.jsonl").split(separator: "\n")
        var line = String(try #require(lines.first { $0.contains(part) }))
        change(&line)
        let folder = try TemporaryDirectory(prefix: "powersync-tokens-")
        defer { folder.remove() }
        let path = folder.path + "/tokens.jsonl"
        try Data("\(lines[0])\n\(line)\n".utf8).write(to: URL(filePath: path))
        let printed = Lock<[String]>([])
        let hasPassed = try TokenConformance { line in printed.withLock { $0.append(line) } }.run(path)
        return printed.withLock { $0 } + ["\(hasPassed)"]
    }

    private static let same =
        "1 passed (0 of them refused for the way they are written alone, 0 for that before what the real service "
        + "names), 0 failed"

    @Test func anotherCodeIsNoticed() throws {
        #expect(try judge("JWT has expired") == [Self.same, "true"])
        #expect(
            try judge("JWT has expired") { $0.replace("PSYNC_S2103", with: "PSYNC_S2104") }.last == "false")
    }

    @Test func anotherTextIsNoticedIfItIsNoLibrarys() throws {
        let expired = "JWT has expired"
        #expect(
            try judge(expired) { $0.replace(expired, with: "signature verification failed") }.last == "false")
        #expect(try judge(expired) { $0.replace(expired, with: "It is over") }.last == "true")
    }

    @Test func aTokenThatIsNotWellFormedIsExcusedForItsNoteAlone() throws {
        let good = #""note":"good""#
        #expect(try judge(good) == [Self.same, "true"])
        #expect(try judge(good) { $0.replace(#""token":"e"#, with: #""token":"."#) }.last == "false")
    }

    @Test func whatIsWrongWithATokenBesidesItsWritingIsCountedApart() throws {
        let alone = try judge(#""note":"signature padded""#)
        #expect(alone.first?.contains("(1 of them refused for the way they are written alone, 0 for") == true)
        let both = try judge(#""note":"ES in DER + signature padded""#)
        #expect(both.first?.contains("(0 of them refused for the way they are written alone, 1 for") == true)
    }
}
