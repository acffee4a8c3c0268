/// Where the PowerSync service is and the token that it accepts.
public struct PowerSyncCredentials: Codable, Sendable {
    /// The base address of the service.
    public let endpoint: String
    /// The token (JWT) of the user.
    public let token: String
    /// The user's id: always nil, the service takes it from the token.
    @available(*, deprecated, message: "The user id is taken from the token")
    public var userId: String? { nil }

    private enum CodingKeys: String, CodingKey {
        case endpoint, token
    }

    /// Creates credentials; the user id has no effect.
    ///
    /// - Parameters:
    ///   - endpoint: the base address of the service.
    ///   - token: the token of the user.
    ///   - userId: ignored.
    @available(*, deprecated, message: "Use init(endpoint:token:), the user id is taken from the token")
    @_disfavoredOverload
    public init(endpoint: String, token: String, userId: String? = nil) {
        self.init(endpoint: endpoint, token: token)
    }

    /// Creates credentials.
    ///
    /// - Parameters:
    ///   - endpoint: the base address of the service.
    ///   - token: the token of the user.
    public init(endpoint: String, token: String) {
        self.endpoint = endpoint
        self.token = token
    }

    /// Returns the address of a path of the service; slashes at the end of the endpoint count for nothing.
    public func endpointUri(path: String) -> String {
        SyncCredentials(endpoint: endpoint, token: token).address(of: path)
    }
}

extension PowerSyncCredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The endpoint; never the token.
    public var description: String { "PowerSyncCredentials<endpoint: \(ShownText.address(endpoint)))>" }

    /// The endpoint; never the token.
    public var debugDescription: String { description }

    /// The endpoint, as `dump` shows it; never the token.
    public var customMirror: Mirror {
        Mirror(self, children: ["endpoint": ShownText.address(endpoint)], displayStyle: .struct)
    }
}
