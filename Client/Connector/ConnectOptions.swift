#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// How a database syncs.
public struct ConnectOptions: Sendable {
    /// The least time between the starts of two upload rounds unless said otherwise: 1 second.
    public static let DefaultCrudThrottle: TimeInterval = 1  // swift-format-ignore: AlwaysUseLowerCamelCase
    /// The wait after an error unless said otherwise: 5 seconds.
    public static let DefaultRetryDelay: TimeInterval = 5  // swift-format-ignore: AlwaysUseLowerCamelCase

    /// The least time between the starts of two upload rounds, in seconds.
    public var crudThrottle: TimeInterval
    /// The wait after a download or upload error, in seconds.
    public var retryDelay: TimeInterval
    /// Client parameters, sent with the stream request.
    public var params: JsonParam
    /// Texts that appear in the service's log of this connection.
    public var appMetadata: [String: String]
    /// Without effect.
    public var newClientImplementation: Bool
    /// Logging of requests.
    public var clientConfiguration: SyncClientConfiguration?
    /// Whether the service's default streams are wanted.
    public var includeDefaultStreams: Bool

    /// Describes how to sync.
    ///
    /// - Parameters:
    ///   - crudThrottle: the least time between the starts of two upload rounds, in seconds.
    ///   - retryDelay: the wait after an error, in seconds.
    ///   - params: client parameters, sent with the stream request.
    ///   - clientConfiguration: logging of requests.
    ///   - appMetadata: texts that appear in the service's log.
    ///   - includeDefaultStreams: whether the service's default streams are wanted.
    public init(
        crudThrottle: TimeInterval = 1, retryDelay: TimeInterval = 5, params: JsonParam = [:],
        clientConfiguration: SyncClientConfiguration? = nil, appMetadata: [String: String] = [:],
        includeDefaultStreams: Bool = true
    ) {
        self.crudThrottle = crudThrottle
        self.retryDelay = retryDelay
        self.params = params
        self.appMetadata = appMetadata
        self.newClientImplementation = true
        self.clientConfiguration = clientConfiguration
        self.includeDefaultStreams = includeDefaultStreams
    }

    /// Describes how to sync, with an option that no longer has an effect.
    ///
    /// - Parameters:
    ///   - crudThrottle: the least time between the starts of two upload rounds, in seconds.
    ///   - retryDelay: the wait after an error, in seconds.
    ///   - params: client parameters, sent with the stream request.
    ///   - newClientImplementation: ignored.
    ///   - clientConfiguration: logging of requests.
    ///   - appMetadata: texts that appear in the service's log.
    ///   - includeDefaultStreams: whether the service's default streams are wanted.
    @available(*, deprecated, message: "newClientImplementation is no longer needed")
    public init(
        crudThrottle: TimeInterval = 1, retryDelay: TimeInterval = 5, params: JsonParam = [:],
        newClientImplementation: Bool = true, clientConfiguration: SyncClientConfiguration? = nil,
        appMetadata: [String: String] = [:], includeDefaultStreams: Bool = true
    ) {
        self.init(
            crudThrottle: crudThrottle, retryDelay: retryDelay, params: params,
            clientConfiguration: clientConfiguration, appMetadata: appMetadata,
            includeDefaultStreams: includeDefaultStreams)
        self.newClientImplementation = newClientImplementation
    }
}
