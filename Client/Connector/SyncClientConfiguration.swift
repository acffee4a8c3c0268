#if canImport(Darwin)
    import Foundation
#endif

/// How the sync client sends its requests.
public struct SyncClientConfiguration: Sendable {
    /// What is logged of each request; nil means nothing.
    public let requestLogger: SyncRequestLoggerConfiguration?

    /// Whether the service may compress what it sends; true unless said otherwise.
    ///
    /// The client asks for zstd, else gzip. A first sync takes a fraction of the bytes then, for some time of the processor on
    /// both sides; without it lines can be read on the way.
    public let acceptsCompression: Bool

    /// Proxy, authorities and client certificate of the requests to the service; nil for those of the system.
    ///
    /// A ``BackendConnector`` is given its own.
    public var transport: TransportOptions?

    #if canImport(Darwin)
        /// The session that carries requests to the service, unless there are options in ``transport``.
        public var urlSession: URLSession = .shared

        /// Creates a configuration in which the service may compress what it sends.
        ///
        /// - Parameters:
        ///   - requestLogger: what is logged of each request; nil means nothing.
        ///   - urlSession: the session that carries requests to the service.
        public init(requestLogger: SyncRequestLoggerConfiguration? = nil, urlSession: URLSession = .shared) {
            self.init(requestLogger: requestLogger, transport: nil)
            self.urlSession = urlSession
        }
    #else
        /// Creates a configuration in which the service may compress what it sends.
        ///
        /// - Parameter requestLogger: what is logged of each request; nil means nothing.
        public init(requestLogger: SyncRequestLoggerConfiguration? = nil) {
            self.init(requestLogger: requestLogger, transport: nil)
        }
    #endif

    /// Creates a configuration.
    ///
    /// - Parameters:
    ///   - requestLogger: what is logged of each request; nil means nothing.
    ///   - acceptsCompression: whether the service may compress what it sends.
    public init(requestLogger: SyncRequestLoggerConfiguration? = nil, acceptsCompression: Bool) {
        self.init(requestLogger: requestLogger, acceptsCompression: acceptsCompression, transport: nil)
    }

    /// Creates a configuration with a way to the service.
    ///
    /// - Parameters:
    ///   - requestLogger: what is logged of each request; nil means nothing.
    ///   - acceptsCompression: whether the service may compress what it sends.
    ///   - transport: proxy, authorities and client certificate; nil for those of the system.
    public init(
        requestLogger: SyncRequestLoggerConfiguration? = nil, acceptsCompression: Bool = true,
        transport: TransportOptions?
    ) {
        self.requestLogger = requestLogger
        self.acceptsCompression = acceptsCompression
        self.transport = transport
    }
}

/// How much of each request is logged; of tokens never more than that there is one.
public enum SyncRequestLogLevel: Sendable {
    /// Everything: headers and bodies, and so each row that is synced.
    case all
    /// Requests, statuses and headers.
    case headers
    /// Requests, statuses and bodies, and so each row that is synced.
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
