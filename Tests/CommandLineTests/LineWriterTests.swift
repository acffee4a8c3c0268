import PowerSyncCommandLine
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@Suite(.patient())
struct LineWriterTests {
    /// Takes what is written, as soon as it is let.
    private final class Reader: Sendable {
        let written = Lock<[String]>([])
        let isOpen = Lock(true)
        let isHeld = Lock(false)

        var lines: [String] {
            written.withLock { $0 }.flatMap { $0.split(separator: "\n", omittingEmptySubsequences: false) }
                .map { String($0) }
        }

        func take(_ text: String) {
            while !isOpen.withLock({ $0 }) {
                isHeld.withLock { $0 = true }
                DetachedThread.sleep(for: .milliseconds(1))
            }
            written.withLock { $0.append(text) }
        }
    }

    private func start(_ reader: Reader, limit: Int = LineWriter.limit) throws -> LineWriter {
        try LineWriter(limit: limit, notice: { "\($0) left out" }, write: { reader.take($0) })
    }

    @Test func linesComeWholeAndInOrder() async throws {
        let reader = Reader()
        let writer = try start(reader, limit: 100_000)
        await withTaskGroup(of: Void.self) { group in
            for who in 0..<4 {
                group.addTask {
                    for number in 0..<500 {
                        writer.put("\(who) \(number) " + String(repeating: "x", count: number % 60))
                    }
                }
            }
        }
        let long = String(repeating: "y", count: 10_000)
        writer.put(long)
        writer.end(within: TestOptions.deadline)
        let lines = reader.lines
        #expect(lines.count == 2_001 && lines.last == long)
        for who in 0..<4 {
            let numbers = lines.filter { $0.hasPrefix("\(who) ") }.map { String($0.split(separator: " ")[1]) }
            #expect(numbers == (0..<500).map { "\($0)" })
        }
        let texts = reader.written.withLock { $0 }
        #expect(texts.count < 2_001, "some are written together")
        #expect(texts.allSatisfy { $0.utf8.count <= 4_096 || $0 == long }, "and can be parted by nobody")
    }

    /// Where nobody reads, those who work go on.
    @Test func whatNobodyTakesIsLeftOutAndCounted() async throws {
        let reader = Reader()
        reader.isOpen.withLock { $0 = false }
        let writer = try start(reader, limit: 4)
        writer.put("first")
        try await wait(for: "the thread to be held up") { reader.isHeld.withLock { $0 } }
        for number in 1...7 { writer.put("\(number)") }
        reader.isOpen.withLock { $0 = true }
        try await wait(for: "all that was kept") { reader.lines.count == 5 }
        writer.put("later")
        writer.end(within: TestOptions.deadline)
        #expect(reader.lines == ["first", "1", "2", "3", "4", "3 left out", "later"])
    }

    @Test func aReaderWhoTakesNothingKeepsNoProgramFromItsEnd() async throws {
        let reader = Reader()
        reader.isOpen.withLock { $0 = false }
        let writer = try start(reader)
        writer.put("first")
        try await wait(for: "the thread to be held up") { reader.isHeld.withLock { $0 } }
        writer.end(within: .milliseconds(20))
        #expect(reader.lines.isEmpty)
        reader.isOpen.withLock { $0 = true }
        try await wait(for: "what was held up") { reader.lines == ["first"] }
        writer.put("behind the end")
        #expect(reader.lines == ["first", "behind the end"])
    }
}
