import PowerSync
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSyncStack

@Suite(.patient())
struct LogOutputTests {
    @Test func linesAreWrittenInTheirOrder() async throws {
        let written = Lock<[String]>([])
        let log = LogOutput { line in written.withLock { $0.append(line) } }
        let logger = DefaultLogger(minSeverity: .warning, writers: [log])
        for number in 0..<100 {
            logger.warning("\(number)", tag: "T")
            logger.info("\(number)")
        }
        await log.finish(within: TestOptions.deadline)
        #expect(written.withLock { $0 } == (0..<100).map { "WARNING: [T] \($0)" })
    }

    /// Neither who logs nor the end; and whoever reads after all learns of what is missing.
    @Test func aReaderThatDoesNotReadHoldsUpNobody() async throws {
        let gate = BlockingGate()
        let written = Lock<[String]>([])
        let log = LogOutput { line in
            gate.wait()
            written.withLock { $0.append(line) }
        }
        let logger = DefaultLogger(writers: [log])
        logger.error("first")
        try await wait(for: "a write that stands still") { gate.arrivals == 1 }
        let text = String(repeating: "x", count: 1 << 10)
        for _ in 0..<1000 { logger.error(text) }
        await log.finish(within: .milliseconds(1))
        #expect(written.withLock { $0 } == [])
        gate.open()
        let lines = try await wait(
            for: "the rest to be told", read: { written.withLock { $0 } },
            until: { $0.last?.hasPrefix("WARNING") == true })
        let kept = lines.count - 2
        #expect((60..<70).contains(kept))
        #expect(lines.first == "ERROR: first")
        #expect(lines[1...kept].allSatisfy { $0 == "ERROR: \(text)" })
        #expect(
            lines.last
                == "WARNING: [Client] \(1000 - kept) lines of the log were dropped, since nobody read those "
                + "before them")
        // From now on there is room.
        logger.error("last")
        await log.finish(within: TestOptions.deadline)
        #expect(written.withLock { $0 } == lines + ["ERROR: last"])
    }
}
