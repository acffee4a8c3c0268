#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// How a database syncs.
///
/// ```swift
/// var options = ConnectOptions(crudThrottle: 0.1, retryDelay: 2, params: ["project": .string("p1")])
/// options.appMetadata = ["version": "1.2"]
/// options.clientConfiguration = SyncClientConfiguration(
///     requestLogger: SyncRequestLoggerConfiguration(requestLevel: .info, logHandler: { print($0) }))
/// try await database.connect(connector: connector, options: options)
/// ```
public struct ConnectOptions: Sendable {
    /// The least time between the starts of two upload rounds unless said otherwise: 1 second.
    public static let DefaultCrudThrottle: TimeInterval = 1  // swift-format-ignore: AlwaysUseLowerCamelCase
    /// The wait after an error unless said otherwise: 5 seconds.
    public static let DefaultRetryDelay: TimeInterval = 5  // swift-format-ignore: AlwaysUseLowerCamelCase

    /// The least time between the starts of two upload rounds, in seconds.
    public var crudThrottle: TimeInterval
    /// The wait after a download or upload error, in seconds, up to a tenth more or less by chance.
    ///
    /// Where a connection was given up because it was silent, the first new attempt is made at once.
    public var retryDelay: TimeInterval
    /// Client parameters, sent with the stream request.
    public var params: JsonParam
    /// Texts that appear in the service's log of this connection.
    public var appMetadata: [String: String]
    /// Without effect.
    public var newClientImplementation: Bool
    /// How requests to the service are sent, and what is logged of them; nil for the usual way, without a log.
    public var clientConfiguration: SyncClientConfiguration?
    /// Whether the service's default streams are wanted.
    public var includeDefaultStreams: Bool
    /// How the client learns which checkpoint includes what it has uploaded.
    public var checkpointMode: CheckpointMode
    /// Whether changes are uploaded although no stream of the service is open: once for each write, without repetition.
    ///
    /// For a backend that may be reached while the service is not. As a rule what is written offline waits for the stream,
    /// and an app without a network shows no error of uploads.
    public var uploadWhileDisconnected = false

    /// Describes how to sync.
    ///
    /// - Parameters:
    ///   - crudThrottle: the least time between the starts of two upload rounds, in seconds.
    ///   - retryDelay: the wait after an error, in seconds.
    ///   - params: client parameters, sent with the stream request.
    ///   - clientConfiguration: how requests to the service are sent, and what is logged of them.
    ///   - appMetadata: texts that appear in the service's log.
    ///   - includeDefaultStreams: whether the service's default streams are wanted.
    ///   - checkpointMode: how the client learns which checkpoint includes what it has uploaded.
    public init(
        crudThrottle: TimeInterval = 1, retryDelay: TimeInterval = 5, params: JsonParam = [:],
        clientConfiguration: SyncClientConfiguration? = nil, appMetadata: [String: String] = [:],
        includeDefaultStreams: Bool = true, checkpointMode: CheckpointMode = .legacy
    ) {
        self.crudThrottle = crudThrottle
        self.retryDelay = retryDelay
        self.params = params
        self.appMetadata = appMetadata
        self.newClientImplementation = true
        self.clientConfiguration = clientConfiguration
        self.includeDefaultStreams = includeDefaultStreams
        self.checkpointMode = checkpointMode
    }

    /// Describes how to sync, with an option that no longer has an effect.
    ///
    /// - Parameters:
    ///   - crudThrottle: the least time between the starts of two upload rounds, in seconds.
    ///   - retryDelay: the wait after an error, in seconds.
    ///   - params: client parameters, sent with the stream request.
    ///   - newClientImplementation: ignored.
    ///   - clientConfiguration: how requests to the service are sent, and what is logged of them.
    ///   - appMetadata: texts that appear in the service's log.
    ///   - includeDefaultStreams: whether the service's default streams are wanted.
    ///   - checkpointMode: how the client learns which checkpoint includes what it has uploaded.
    @available(*, deprecated, message: "newClientImplementation is no longer needed")
    public init(
        crudThrottle: TimeInterval = 1, retryDelay: TimeInterval = 5, params: JsonParam = [:],
        newClientImplementation: Bool = true, clientConfiguration: SyncClientConfiguration? = nil,
        appMetadata: [String: String] = [:], includeDefaultStreams: Bool = true,
        checkpointMode: CheckpointMode = .legacy
    ) {
        self.init(
            crudThrottle: crudThrottle, retryDelay: retryDelay, params: params,
            clientConfiguration: clientConfiguration, appMetadata: appMetadata,
            includeDefaultStreams: includeDefaultStreams, checkpointMode: checkpointMode)
        self.newClientImplementation = newClientImplementation
    }
}
