import PowerSyncPostgres
import PowerSyncSystem

/// How the source database is reached.
package struct SourceDatabase: Sendable {
    /// The connection's text for libpq.
    package let uri: String
    /// Further keywords of libpq, such as `sslmode`.
    package private(set) var parameters: [String: String]

    /// Certificates that are not in files yet, as libpq wants them (`SourceCertificates.inFiles`).
    package var certificates: SourceCertificates?
    /// Which addresses may be connected to, and whose certificate the server must have.
    package var addresses = PostgresAddressRules()
    /// How long looking up the name, connecting and logging in may take.
    package var connectTimeout = Duration.seconds(10)
    /// The same where a client waits for it.
    package var clientConnectTimeout = Duration.seconds(5)
    /// How long a request of a client may wait for one of its connections.
    package var clientAcquireTimeout = Duration.seconds(2)
    /// How many connections requests of clients may use at once, beside those of replication.
    package var poolSize = 3

    /// Makes a source of its parts.
    package init(uri: String, parameters: [String: String] = [:], certificates: SourceCertificates? = nil) {
        self.uri = uri
        self.parameters = parameters
        self.certificates = certificates
    }

    /// The same source with its certificates in files, under their keywords of libpq.
    package func with(_ files: SourceCertificates.Files) -> SourceDatabase {
        var source = self
        source.parameters.merge(files.parameters) { _, last in last }
        source.certificates = nil
        return source
    }

    /// The name of the publication that must exist (service 7.1).
    package static let publication = "powersync"

    /// The settings under which values have the text form that `ValueConverter` reads.
    static let settings: [(name: String, value: String)] = [
        ("TimeZone", "UTC"), ("DateStyle", "ISO,MDY"), ("IntervalStyle", "postgres"),
        ("extra_float_digits", "1"),
        ("bytea_output", "hex"), ("standard_conforming_strings", "on"), ("search_path", ""),
        ("default_transaction_read_only", "off"), ("statement_timeout", "0"),
        ("idle_in_transaction_session_timeout", "0"), ("lock_timeout", "0"),
    ]

    /// Lifts limits that older servers do not know, and so cannot be named when connecting.
    private static let liftLimits =
        "SELECT set_config(name, '0', false) FROM pg_settings "
        + "WHERE name IN ('idle_session_timeout', 'transaction_timeout') AND setting <> '0'"

    /// The keywords of a connection that runs statements.
    ///
    /// What these write only moves the log on, and must not wait for a standby.
    var statementParameters: [String: String] {
        parameters(with: Self.settings + [("synchronous_commit", "local")])
    }

    private func parameters(with settings: [(name: String, value: String)]) -> [String: String] {
        parameters.merging(["options": PostgresSession.options(settings)]) { _, ours in ours }
    }

    /// Connects for statements.
    func connect(_ poller: Poller) async throws -> PostgresConnection {
        try await connect(statementParameters, poller)
    }

    /// Connects for replication; also takes statements of the simple protocol.
    func connectForReplication(_ poller: Poller) async throws -> PostgresConnection {
        try await connect(
            parameters(with: Self.settings).merging(["replication": "database"]) { _, ours in ours }, poller)
    }

    private func connect(
        _ parameters: [String: String], _ poller: Poller
    ) async throws -> PostgresConnection {
        let end = ContinuousClock.now + connectTimeout
        let connection = try await PostgresConnection.connect(
            uri, parameters: parameters, addresses: addresses, poller: poller, deadline: connectTimeout)
        do {
            try await connection.script(Self.liftLimits, until: end)
        } catch {
            await connection.close()
            throw error
        }
        return connection
    }

    /// Makes the connections for requests of clients.
    ///
    /// - Parameters:
    ///   - patience: How long a statement may say nothing.
    ///   - poller: Must outlive the pool.
    /// - Returns: A pool that has connected to nothing yet.
    func pool(patience: Duration, _ poller: Poller) -> PostgresPool {
        PostgresPool(
            uri: uri, limits: poolLimits(patience: patience), parameters: statementParameters,
            addresses: addresses, poller: poller)
    }

    /// The limits of the connections for requests of clients.
    package func poolLimits(patience: Duration) -> PostgresPool.Limits {
        // A small pool lets the calls of all requests that are shared wait.
        var limits = PostgresPool.Limits(size: poolSize, waiting: max(12, 4 * poolSize))
        limits.patience = patience
        limits.connectTimeout = clientConnectTimeout
        limits.acquireTimeout = clientAcquireTimeout
        return limits
    }
}

/// Why the source cannot be replicated as it is.
package struct ReplicationError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A kind of failure.
    package struct Code: RawRepresentable, Sendable, Hashable {
        /// The name of the kind.
        package let rawValue: String
        /// Makes a kind of its name.
        package init(rawValue: String) { self.rawValue = rawValue }
        /// The publication is missing or incomplete.
        package static let publication = Code(rawValue: "publication")
        /// The database's encoding says nothing of its texts.
        package static let encoding = Code(rawValue: "encoding")
        /// The slot is gone or was invalidated; everything is replicated again through a new one.
        package static let slotLost = Code(rawValue: "slot-lost")
        /// The server is a standby: the source is away.
        package static let standby = Code(rawValue: "standby")
        /// The source is another than the one that the state was made from.
        package static let otherSource = Code(rawValue: "other-source")
        /// A table was altered while it was read; it is tried again.
        package static let alteredTable = Code(rawValue: "altered-table")
        /// Two connections lead to different servers; it is tried again.
        package static let otherServer = Code(rawValue: "other-server")
        /// Another configuration has taken the place of this one.
        package static let replaced = Code(rawValue: "replaced")
        /// The source says nothing any more.
        package static let silent = Code(rawValue: "silent")
        /// The server speaks the protocol in a way that was not expected.
        package static let unexpected = Code(rawValue: "unexpected")
    }

    /// What kind of failure.
    package let code: Code
    /// What is wrong and what helps, with the real service's code where it has one.
    package let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The message.
    package var description: String { message }
}
