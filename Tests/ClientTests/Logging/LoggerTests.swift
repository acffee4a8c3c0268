import Foundation
import PowerSync
import PowerSyncSystem
import Testing

struct LoggerTests {
    @Test func onlyLinesOfTheMinimumSeverityAreWritten() {
        let writer = RecordingWriter()
        let logger = DefaultLogger(minSeverity: .warning, writers: [writer])
        logger.debug("a")
        logger.info("b", tag: "T")
        logger.warning("c", tag: "T")
        logger.error("d")
        logger.fault("e")
        #expect(writer.lines.map(\.message) == ["c", "d", "e"])
        #expect(writer.lines.map(\.severity) == [.warning, .error, .fault])
        #expect(writer.lines.map(\.tag) == ["T", nil, nil])
        logger.setMinSeverity(.debug)
        logger.debug("f")
        #expect(writer.lines.last?.message == "f")
    }

    @Test func everyWriterGetsTheLineAndMayBeReplaced() {
        let (first, second) = (RecordingWriter(), RecordingWriter())
        let logger = DefaultLogger(writers: [first, first])
        logger.info("a")
        logger.setWriters([second])
        logger.info("b")
        #expect(first.lines.map(\.message) == ["a", "a"])
        #expect(second.lines.map(\.message) == ["b"])
    }

    @Test func lineHasSeverityTagAndMessage() {
        #expect(PrintLogWriter.line(severity: .warning, message: "m", tag: "Tag") == "WARNING: [Tag] m")
        #expect(PrintLogWriter.line(severity: .debug, message: "m", tag: nil) == "DEBUG: m")
        #expect(PrintLogWriter.line(severity: .fault, message: "m", tag: "") == "FAULT: m")
    }

    @Test func severitiesHaveNumbersAndNames() {
        #expect(LogSeverity.allCases.map(\.rawValue) == [0, 1, 2, 3, 4])
        #expect(LogSeverity.allCases.map(\.stringValue) == ["DEBUG", "INFO", "WARNING", "ERROR", "FAULT"])
        #expect(LogSeverity.string(from: 3) == "ERROR")
        #expect(LogSeverity.string(from: 5) == nil)
    }

    @Test func requestLogThroughALoggerUsesItsSeverityAndTag() {
        let writer = RecordingWriter()
        let configuration = SyncRequestLoggerConfiguration(
            requestLevel: .all, logger: DefaultLogger(writers: [writer]), logSeverity: .info, logTag: "HTTP")
        configuration.log("line")
        #expect(writer.lines.map(\.severity) == [.info])
        #expect(writer.lines.map(\.tag) == ["HTTP"])
    }
}
