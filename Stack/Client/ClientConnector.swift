import PowerSync

/// The connectors of the tool: the one place that knows which there are.
enum ClientConnector {
    /// Makes the connector for what stands in the command line.
    ///
    /// - Parameters:
    ///   - options: the options.
    ///   - refused: hears what the backend says of uploads.
    /// - Returns: the connector.
    static func make(
        _ options: ClientOptions, telling refused: RefusedUploads
    ) -> any PowerSyncBackendConnectorProtocol {
        switch options.login {
        case .token(let token): TokenConnector(endpoint: options.endpoint, token: token)
        case .user(let user, let backend):
            BackendConnector(
                url: backend, user: user, endpoint: options.endpoint, transport: options.transport,
                onVerdict: { refused.take($0) }, decide: { refused.decide($0, $1) })
        }
    }
}

/// Syncs with a token that somebody else made, and has nowhere to upload to.
struct TokenConnector: PowerSyncBackendConnectorProtocol {
    /// The service's URL.
    let endpoint: String
    /// The token; when it has expired syncing ends with the service's refusal.
    let token: String

    /// Returns the token.
    func fetchCredentials() async throws -> PowerSyncCredentials? {
        PowerSyncCredentials(endpoint: endpoint, token: token)
    }

    /// Throws: what is in the queue stays there.
    func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
        throw ClientError(
            "with --token there is nowhere to upload to, the queue keeps what was written; give --backend and --user",
            code: .invalidState)
    }
}
