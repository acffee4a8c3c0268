import PowerSyncSystem

/// A connector to a backend of this package, or to one that takes the same uploads.
///
/// It gets sync tokens from `GET /api/auth/token` of the backend, and sends the upload queue to `POST /api/data`:
/// several transactions at a time, each as a whole and in its order. What the backend has accepted, or has rejected
/// for good, leaves the queue; everything else stays and is sent again. An upload that comes twice does no harm: every
/// change carries the number by which the backend knows it.
///
/// In production the backend knows who asks by the app's own session. For development there is
/// ``init(url:user:endpoint:transport:onVerdict:decide:)``.
///
/// ```swift
/// let connector = BackendConnector(
///     url: "https://api.example.com", session: { await account.authorization },
///     onVerdict: { verdict in
///         if verdict.outcome == .rejected { print("Not accepted: \(verdict.message ?? "")") }
///     })
/// try await database.connect(connector: connector, options: ConnectOptions())
/// ```
///
/// Errors are ``PowerSyncError``, and show in the status. Those of a session or a callback of the app stay as they are.
public final class BackendConnector: PowerSyncBackendConnectorProtocol {
    let http: BackendHTTP
    /// The connections to the backend, and to the storage that it signs URLs of.
    let client: FirstUseHTTPClient
    let tokens: BackendTokens
    /// Keeps uploads back while the backend asks for that.
    let pause: BackendPause
    let batchSize = Lock(UploadBatchSize())
    let environment: SyncEnvironment
    let access: BackendAccess
    let onVerdict: (@Sendable (UploadVerdict) async -> Void)?
    let decide: (@Sendable (UploadVerdict, CrudTransaction) async throws -> UploadDecision)?

    /// Connects as the user of the app's own session.
    ///
    /// - Parameters:
    ///   - url: the base address of the backend, such as `https://api.example.com`.
    ///   - session: returns the value of the header field `Authorization` for the backend, such as `Bearer …`; nil if
    ///     nobody is signed in. It is sent with uploads and requests for tokens, each of which asks for it, and once
    ///     more when the backend refuses it (status 401).
    ///   - endpoint: the address of the PowerSync service; nil for the one that the backend names.
    ///   - transport: proxy, authorities and client certificate of the requests to the backend; nil for those of the
    ///     system. The requests to the service have their own (``SyncClientConfiguration/transport``).
    ///   - onVerdict: is told what became of each transaction of an upload, in their order; of one that leaves the
    ///     queue, after it has left it.
    ///   - decide: decides what becomes of a transaction that the backend will never take and leaves to the app; it is
    ///     asked again with each attempt while it keeps it. Without it such a transaction stays first in the queue, and
    ///     the status shows ``PowerSyncError/Code/uploadUndecided``. What it throws shows there in its place, and the
    ///     transaction stays.
    public convenience init(
        url: String, session: @escaping @Sendable () async throws -> String?, endpoint: String? = nil,
        transport: TransportOptions? = nil,
        onVerdict: (@Sendable (UploadVerdict) async -> Void)? = nil,
        decide: (@Sendable (UploadVerdict, CrudTransaction) async throws -> UploadDecision)? = nil
    ) {
        self.init(
            url: url, access: .session(session), endpoint: endpoint, transport: transport,
            onVerdict: onVerdict, decide: decide)
    }

    /// Connects as any user of a development backend (`DEV_TOKENS=true`), without a session.
    ///
    /// The sync token is what authorises uploads.
    ///
    /// - Parameters:
    ///   - url: the base address of the backend, such as `http://127.0.0.1:6060`.
    ///   - user: whom the tokens are for; nil for the user that the backend takes then.
    ///   - endpoint: the address of the PowerSync service; nil for the one that the backend names.
    ///   - transport: proxy, authorities and client certificate of the requests to the backend; nil for those of the
    ///     system. The requests to the service have their own (``SyncClientConfiguration/transport``).
    ///   - onVerdict: is told what became of each transaction of an upload, in their order; of one that leaves the
    ///     queue, after it has left it.
    ///   - decide: decides what becomes of a transaction that the backend will never take and leaves to the app; it is
    ///     asked again with each attempt while it keeps it. Without it such a transaction stays first in the queue, and
    ///     the status shows ``PowerSyncError/Code/uploadUndecided``. What it throws shows there in its place, and the
    ///     transaction stays.
    public convenience init(
        url: String, user: String? = nil, endpoint: String? = nil, transport: TransportOptions? = nil,
        onVerdict: (@Sendable (UploadVerdict) async -> Void)? = nil,
        decide: (@Sendable (UploadVerdict, CrudTransaction) async throws -> UploadDecision)? = nil
    ) {
        self.init(
            url: url, access: .developmentUser(user), endpoint: endpoint, transport: transport,
            onVerdict: onVerdict, decide: decide)
    }

    /// Connects through another way than the network, or with other clocks than the system's.
    init(
        url: String, access: BackendAccess, endpoint: String? = nil, transport: TransportOptions? = nil,
        onVerdict: (@Sendable (UploadVerdict) async -> Void)? = nil,
        decide: (@Sendable (UploadVerdict, CrudTransaction) async throws -> UploadDecision)? = nil,
        environment: SyncEnvironment = .system(), send: BackendHTTP.Send? = nil
    ) {
        let client = FirstUseHTTPClient(transport)
        let http = BackendHTTP(url: url, send: send ?? { try await client.send($0) })
        self.http = http
        self.client = client
        tokens = BackendTokens(http: http, access: access, endpoint: endpoint, environment: environment)
        pause = BackendPause(environment: environment)
        self.environment = environment
        self.access = access
        self.onVerdict = onVerdict
        self.decide = decide
    }

    /// Returns a new token; nil if nobody is signed in.
    ///
    /// - Returns: the token, and where the service is.
    /// - Throws: `PowerSyncError`, also for a transport that cannot be used; what the session throws;
    ///   `CancellationError`.
    public func fetchCredentials() async throws -> PowerSyncCredentials? {
        try await tokens.fresh().map { PowerSyncCredentials(endpoint: $0.endpoint, token: $0.token) }
    }
}

extension BackendConnector: CustomStringConvertible, CustomReflectable {
    /// The address of the backend; never a token.
    public var description: String { "BackendConnector(url: \(ShownText.address(http.url)))" }

    /// The address of the backend, as `dump` shows it; never a token.
    public var customMirror: Mirror { Mirror(self, children: ["url": ShownText.address(http.url)]) }
}
