import PowerSyncStack
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@Suite(.patient())
struct AnswerOutputTests {
    @Test func linesAreWrittenOneByOneInTheirOrder() async throws {
        let written = Lock<[String]>([])
        let output = AnswerOutput { line in written.withLock { $0.append(line) } }
        let lines = (0..<1000).map { "line \($0)" }
        for line in lines {
            output.put(line)
            await output.room()
        }
        await output.flush()
        #expect(written.withLock { $0 } == lines)
    }

    /// A reader that does not read holds up those who write much, and them alone.
    @Test func aReaderThatDoesNotReadHoldsUpWhoeverWritesMuch() async throws {
        let gate = BlockingGate()
        let written = Lock(0)
        let output = AnswerOutput { line in
            gate.wait()
            written.withLock { $0 += line.utf8.count }
        }
        output.put("small")
        await output.room()
        try await wait(for: "a write that stands still") { gate.arrivals == 1 }
        output.put(String(repeating: "x", count: 2 << 20))
        let isThrough = Lock(false)
        let waiting = Task {
            await output.room()
            isThrough.withLock { $0 = true }
        }
        let flushing = Task { await output.flush() }
        // Cancelled, it goes without having got room.
        let cancelled = Task { await output.room() }
        cancelled.cancel()
        await cancelled.value
        #expect(!isThrough.withLock { $0 })
        gate.open()
        await waiting.value
        await flushing.value
        #expect(written.withLock { $0 } == 5 + 2 << 20)
    }

    @Test func aLineThatCannotBeWrittenIsTheLast() async throws {
        let written = Lock<[String]>([])
        let output = AnswerOutput { line in
            if line == "third" { throw SystemError(.file, "the disk is full", errno: 28) }
            written.withLock { $0.append(line) }
        }
        #expect(output.failure == nil)
        let failing = Task { try await output.waitForFailure() }
        for line in ["first", "second", "third", "fourth", String(repeating: "x", count: 2 << 20)] {
            output.put(line)
        }
        await output.room()
        await output.flush()
        try await wait(forEndOf: failing)
        #expect((output.failure as? SystemError)?.message == "the disk is full")
        #expect(written.withLock { $0 } == ["first", "second"])
    }

    @Test func whatIsAbandonedHoldsUpNobody() async throws {
        let gate = BlockingGate()
        let written = Lock<[String]>([])
        let output = AnswerOutput { line in
            gate.wait()
            written.withLock { $0.append(line) }
        }
        output.put("first")
        try await wait(for: "a write that stands still") { gate.arrivals == 1 }
        output.put(String(repeating: "x", count: 2 << 20))
        let waiting = Task { await output.room() }
        let flushing = Task { await output.flush() }
        output.abandon()
        await waiting.value
        await flushing.value
        gate.open()
        try await wait(for: "the first line") { written.withLock { $0 } == ["first"] }
    }
}
