/// How the sync client sends its requests.
public struct SyncClientConfiguration: Sendable {
    /// What is logged of each request; nil means nothing.
    public let requestLogger: SyncRequestLoggerConfiguration?

    /// Whether the service may compress what it sends; true unless said otherwise.
    ///
    /// The client asks for zstd, else gzip. A first sync takes a fraction of the bytes then, for some time of the processor on
    /// both sides; without it lines can be read on the way.
    public let acceptsCompression: Bool

    /// Creates a configuration in which the service may compress what it sends.
    ///
    /// - Parameter requestLogger: what is logged of each request; nil means nothing.
    public init(requestLogger: SyncRequestLoggerConfiguration? = nil) {
        self.init(requestLogger: requestLogger, acceptsCompression: true)
    }

    /// Creates a configuration.
    ///
    /// - Parameters:
    ///   - requestLogger: what is logged of each request; nil means nothing.
    ///   - acceptsCompression: whether the service may compress what it sends.
    public init(requestLogger: SyncRequestLoggerConfiguration? = nil, acceptsCompression: Bool) {
        self.requestLogger = requestLogger
        self.acceptsCompression = acceptsCompression
    }
}

/// How much of each request is logged.
public enum SyncRequestLogLevel: Sendable {
    /// Everything: headers and bodies.
    case all
    /// Requests, statuses and headers.
    case headers
    /// Requests, statuses and bodies.
    case body
    /// Requests and statuses.
    case info
    /// Nothing.
    case none
}

/// What is logged of each request, and where.
public struct SyncRequestLoggerConfiguration: Sendable {
    /// How much is logged.
    public let requestLevel: SyncRequestLogLevel
    private let handler: @Sendable (String) -> Void

    /// Logs through a closure.
    ///
    /// - Parameters:
    ///   - requestLevel: how much is logged.
    ///   - logHandler: receives each line.
    public init(
        requestLevel: SyncRequestLogLevel, logHandler: @Sendable @escaping (_ message: String) -> Void
    ) {
        self.requestLevel = requestLevel
        handler = logHandler
    }

    /// Logs through a logger.
    ///
    /// - Parameters:
    ///   - requestLevel: how much is logged.
    ///   - logger: receives each line.
    ///   - logSeverity: the severity of the lines.
    ///   - logTag: the tag of the lines.
    public init(
        requestLevel: SyncRequestLogLevel, logger: any LoggerProtocol, logSeverity: LogSeverity = .debug,
        logTag: String? = nil
    ) {
        self.init(requestLevel: requestLevel) { message in
            logger.log(logSeverity, message, tag: logTag)
        }
    }

    /// Logs one line.
    public func log(_ message: String) {
        handler(message)
    }
}
