#if canImport(OSLog)
    import Foundation
    import OSLog
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Writes log lines to the system's log on Apple platforms, to standard error elsewhere.
///
/// On standard error each line is one `write` of `SEVERITY: [tag] message`, so lines of several threads never
/// mix. A tool's standard output stays clean. It waits where standard error is a pipe that nobody reads, and syncing
/// with it: an app of which that may be so gives the logger another writer.
public final class PrintLogWriter: LogWriterProtocol {
    #if canImport(OSLog)
        private let logger: Logger
    #endif

    /// The identifier of the app where there is one.
    @usableFromInline static var defaultSubsystem: String {
        #if canImport(OSLog)
            if let identifier = Bundle.main.bundleIdentifier { return identifier }
        #endif
        return "com.powersync.logger"
    }

    /// Creates a writer.
    ///
    /// - Parameters:
    ///   - subsystem: the subsystem in Apple's log; without effect elsewhere.
    ///   - category: the category in Apple's log; without effect elsewhere.
    public init(
        subsystem: String = PrintLogWriter.defaultSubsystem, category: String = "default"
    ) {
        #if canImport(OSLog)
            logger = Logger(subsystem: subsystem, category: category)
        #endif
    }

    /// Writes one line.
    public func log(severity: LogSeverity, message: String, tag: String?) {
        #if canImport(OSLog)
            let text = Self.text(message, tag: tag)
            switch severity {
            case .debug: logger.debug("\(text, privacy: .public)")
            case .info: logger.info("\(text, privacy: .public)")
            case .warning: logger.warning("\(text, privacy: .public)")
            case .error: logger.error("\(text, privacy: .public)")
            case .fault: logger.fault("\(text, privacy: .public)")
            }
        #else
            let bytes = Array((Self.line(severity: severity, message: message, tag: tag) + "\n").utf8)
            // A log line that cannot be written has nowhere else to go.
            _ = bytes.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
        #endif
    }

    /// Returns the line for standard error, without its newline.
    package static func line(severity: LogSeverity, message: String, tag: String?) -> String {
        "\(severity.stringValue): \(text(message, tag: tag))"
    }

    private static func text(_ message: String, tag: String?) -> String {
        guard let tag, !tag.isEmpty else { return message }
        return "[\(tag)] \(message)"
    }
}
