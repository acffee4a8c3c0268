import PowerSyncPostgres
import PowerSyncWire

/// Everything that an operator decides (backend 6.3).
package struct BackendConfiguration: Sendable, Hashable {
    /// Which tables uploads may write.
    package enum Tables: Sendable, Hashable {
        /// A table map in a file.
        case file(String)
        /// A table map as text.
        case text(String)
        /// Every table of the publication `powersync` (`DEV_OPEN_SCHEMA`).
        case openSchema
    }

    /// The database, a URI of libpq.
    package var databaseURI: String
    /// The address to listen on.
    package var host = "127.0.0.1"
    /// The port; 0 is any.
    package var port = 6060
    /// Where clients find the sync service.
    package var powersyncURL: String
    /// Whom tokens are for; empty means `powersyncURL`.
    package var audiences: [String] = []
    /// Who makes the tokens.
    package var tokenIssuer: String?
    /// How long a token lives.
    package var tokenLifetime = BackendConfiguration.standardTokenLifetime
    /// Where the signing keys come from.
    package var keys: SigningKeys.Source
    /// Which tables uploads may write.
    package var tables: Tables
    /// Whether anybody gets a token for any user by `?user_id=`: for development alone.
    package var hasDevelopmentTokens = false
    /// The user of a development token that was asked for without one.
    package var developmentUser = "dev-user"
    /// Whether an upload without a token counts as one of `developmentUser`: for development alone.
    package var hasOpenUploads = false
    /// Names under which requests may come while one of these two is on, beside those of this machine and of `powersyncURL`
    /// and `corsOrigins`.
    package var developmentHosts: [String] = []
    /// Whether the token for the sync service is also good for uploads, as those of development must be.
    package var acceptsSyncTokens = false
    /// Whom tokens for uploads are for, where sync tokens are not accepted.
    package var uploadAudiences: [String] = []
    /// Who may sign in.
    package var authentication = AuthenticationSettings()
    /// As whom transactions write.
    package var roles = RoleSettings()
    /// How many tokens and failures there may be.
    package var rateLimits = LimitSettings()
    /// How the database is met, and the backend watched.
    package var links = LinkSettings()
    /// How the link to the database is protected; nil leaves it to libpq.
    package var tls: DatabaseTLS?
    /// Whether transactions behind a rejected one are tried in the same request.
    package var continuesAfterFatalError = false
    /// Whether bad operations are cut out of a legacy batch, instead of refusing it whole.
    package var isolatesLegacyBatches = false
    /// Whether the routes of custom checkpoints are there (`CHECKPOINT_MODE=custom`).
    package var hasCustomCheckpoints = false
    /// Which web pages may call.
    package var corsOrigins: [String] = []
    /// The most bytes of a body.
    package var bodyLimit = 16 << 20
    /// How long a body may take to arrive, beside the time that its bytes take at `bodyBytesPerSecond` (backend 7,
    /// number 11).
    package var bodyTimeout = Duration.seconds(30)
    /// How slow a link may be: one of a phone must get a full body through.
    package var bodyBytesPerSecond = 64 << 10
    /// How long the head of a request may take from its first byte, and the first byte from the connection.
    package var headerTimeout = Duration.seconds(10)
    /// About how much memory all uploads in work may take; a quarter is for their bodies as they come.
    package var uploadMemory = 256 << 20
    /// How many uploads of one user are in work at a time (backend 8.2).
    package var uploadsPerUser = 1
    /// How many more of one user may wait for their turn.
    package var uploadsWaiting = 64
    /// How long an upload waits in all, for its turn and for memory, before its client is asked to come again (backend 1.8).
    package var admissionTimeout = Duration.seconds(20)
    /// How many dead letters there may be, and for how long.
    package var letters = DeadLetterPolicy()
    /// How long an upload waits to hear how many its user has; it goes on without (backend 1.8).
    package var quotaTimeout = Duration.seconds(1)
    /// Where attachments are, and how many; nil keeps none.
    package var attachments: AttachmentConfiguration?
    /// How far the clock may be from that of the database before no attachment is cleared up by it; nil compares nothing.
    package var clockTolerance: Duration? = .seconds(900)
    /// How often the catalog is looked at where nobody says that it has changed (backend 8.5).
    package var catalogInterval = Duration.seconds(30)
    /// The most connections to the database, beside the one of the probe and the one that listens.
    package var poolSize = 8
    /// How long whoever needs one of these waits for it before it is tried again.
    package var acquireTimeout = Duration.seconds(2)
    /// How long connecting may take, unless `connect_timeout` of `databaseURI` is longer.
    package var connectTimeout = Duration.seconds(5)
    /// How long the database may take to answer a probe (backend 8.3).
    package var probeTimeout = Duration.seconds(1)
    /// How long a statement may take.
    package var statementTimeout = Duration.seconds(10)
    /// How long a statement may wait for a lock.
    package var lockTimeout = Duration.seconds(3)
    /// How long the backend says that it is leaving before it does, so that balancers notice.
    package var drainDelay = Duration.zero
    /// How long running requests may take to end at a stop, `drainDelay` included.
    package var grace = Duration.seconds(24)
    /// How long the database and the connections may take behind that, before the program ends all the same.
    package var closing = Duration.seconds(4)
    /// How long the start waits for the database.
    package var startTimeout = Duration.seconds(15)
    /// How long the start may take to bring the schema `psb` up to date, or wait for another backend that does.
    package var migrationTimeout = Duration.seconds(600)
    /// How long applying an upload may take.
    package var uploadTimes = UploadApplier.Times()
    /// How failing transactions are tried again.
    package var retries = RetryPolicy()
    /// What is too large.
    package var limits = UploadBody.Limits()

    /// Makes a configuration with safe defaults: this machine alone reaches it, and nobody is let in.
    ///
    /// - Parameters:
    ///   - databaseURI: the database.
    ///   - powersyncURL: where clients find the sync service.
    ///   - keys: where the signing keys come from.
    ///   - tables: which tables uploads may write.
    package init(databaseURI: String, powersyncURL: String, keys: SigningKeys.Source, tables: Tables) {
        self.databaseURI = databaseURI
        self.powersyncURL = powersyncURL
        self.keys = keys
        self.tables = tables
    }

    /// How long a token lives unless a setting says.
    static let standardTokenLifetime = Duration.seconds(600)

    /// Whom tokens are for.
    package var tokenAudiences: [String] { audiences.isEmpty ? [powersyncURL] : audiences }

    /// Whose tokens are good for uploads.
    package var acceptedAudiences: [String] {
        acceptsSyncTokens ? tokenAudiences + uploadAudiences : uploadAudiences
    }

    /// The settings of every transaction that writes.
    package var settings: SessionSettings {
        SessionSettings(statementTimeout: statementTimeout, lockTimeout: lockTimeout)
    }

    /// The parameters of every connection: its settings, its protection, and how the system notices that the server is gone
    /// (backend 8.2).
    ///
    /// What `databaseURI` says of the link itself holds, and so do its `options`, but for settings of ours. A pooler that hands
    /// out another session for each transaction takes no settings of a session: it is asked for none.
    package var connectionParameters: [String: String] {
        // A text that is malformed is refused when it is connected to.
        let named = (try? ConnectionOptions.named(in: databaseURI)) ?? [:]
        var parameters = BackendConfiguration.link.filter { named[$0.key] == nil }
        parameters["client_encoding"] = "UTF8"
        parameters["application_name"] = "powersync-backend"
        if links.preparesStatements {
            // Of a setting that is there twice the last one counts.
            let options = [named["options"] ?? "", settings.options]
            parameters["options"] = options.filter { !$0.isEmpty }.joined(separator: " ")
        }
        return parameters.merging(tls?.parameters ?? [:]) { _, last in last }
    }

    /// Returns an error of the database with what an operator can do about it, where that is known.
    package func advised(_ error: PostgresError) -> PostgresError {
        let advice: String?
        switch error.sqlstate {
        // Protocol violation: a parameter of the session that a pooler refuses; a name of a statement that it does not have,
        // or has already.
        case "08P01", "26000", "42P05":
            advice = links.preparesStatements ? "behind a pooler in transaction mode say PREPARED=off" : nil
        default: advice = tls?.advice(for: error)
        }
        guard let advice else { return error }
        return PostgresError(
            error.code, "\(error.message); \(advice)", sqlstate: error.sqlstate, severity: error.severity,
            function: error.function)
    }

    /// How many statements each connection keeps prepared: more than an app has tables and ways to write them.
    private static let preparedStatements = 256

    /// After half a minute of silence the peer is asked three times, and what was sent must be acknowledged in ten seconds.
    private static let link = [
        "keepalives": "1", "keepalives_idle": "30", "keepalives_interval": "10", "keepalives_count": "3",
        "tcp_user_timeout": "10000",
    ]

    /// How many connections there are, and how long they are waited for (backend 8.2).
    package var poolLimits: PostgresPool.Limits {
        // A text that is malformed is refused when it is connected to.
        let named = (try? ConnectionOptions.named(in: databaseURI)) ?? [:]
        let allowed = named["connect_timeout"].flatMap { Int($0) } ?? 0
        var limits = PostgresPool.Limits(
            size: poolSize, acquireTimeout: acquireTimeout,
            connectTimeout: max(connectTimeout, .seconds(allowed)))
        // A server that is there ends a statement before this.
        limits.patience = statementTimeout + .milliseconds(500)
        if links.preparesStatements { limits.preparedStatements = BackendConfiguration.preparedStatements }
        return limits
    }
}

extension Duration {
    /// Whole milliseconds.
    var milliseconds: Int64 { components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000 }
}
