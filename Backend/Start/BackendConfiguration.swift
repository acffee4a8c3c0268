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
    package var host = "0.0.0.0"
    /// The port; 0 is any.
    package var port = 6060
    /// Where clients find the sync service.
    package var powersyncURL: String
    /// Whom tokens are for; empty means `powersyncURL`.
    package var audiences: [String] = []
    /// Who makes the tokens.
    package var tokenIssuer: String?
    /// How long a token lives.
    package var tokenLifetime = Duration.seconds(600)
    /// Where the signing keys come from.
    package var keys = SigningKeys.Source.ephemeral
    /// Which tables uploads may write.
    package var tables = Tables.openSchema
    /// Whether anybody gets a token for any user by `?user_id=`: for development alone.
    package var hasDevelopmentTokens = false
    /// The user of a development token that was asked for without one.
    package var developmentUser = "dev-user"
    /// Whether the token for the sync service is also good for uploads.
    package var acceptsSyncTokens = true
    /// Whom tokens for uploads are for, where sync tokens are not accepted.
    package var uploadAudiences: [String] = []
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
    /// The most connections to the database.
    package var poolSize = 8
    /// How long a statement may take.
    package var statementTimeout = Duration.seconds(10)
    /// How long a statement may wait for a lock.
    package var lockTimeout = Duration.seconds(3)
    /// How long the backend says that it is leaving before it does, so that balancers notice.
    package var drainDelay = Duration.zero
    /// How long running requests may take to end at a stop.
    package var grace = Duration.seconds(25)
    /// How long the start waits for the database.
    package var startTimeout = Duration.seconds(15)
    /// How failing transactions are tried again.
    package var retries = RetryPolicy()
    /// What is too large.
    package var limits = UploadBody.Limits()

    /// Makes a configuration with the defaults, for development: open schema and a key of this run alone.
    ///
    /// - Parameters:
    ///   - databaseURI: the database.
    ///   - powersyncURL: where clients find the sync service.
    package init(databaseURI: String, powersyncURL: String) {
        self.databaseURI = databaseURI
        self.powersyncURL = powersyncURL
    }

    /// Whom tokens are for.
    package var tokenAudiences: [String] { audiences.isEmpty ? [powersyncURL] : audiences }

    /// Whose tokens are good for uploads.
    package var acceptedAudiences: [String] {
        acceptsSyncTokens ? tokenAudiences + uploadAudiences : uploadAudiences
    }

    /// The parameters of every connection: what makes values mean the same everywhere (backend 2.4, 8.2).
    ///
    /// Names of the backend's own statements are all qualified; the schema `public` stays visible because the
    /// triggers of applications count on it.
    package var connectionParameters: [String: String] {
        let settings: [(String, String)] = [
            ("TimeZone", "UTC"), ("DateStyle", "ISO,MDY"), ("IntervalStyle", "iso_8601"),
            ("extra_float_digits", "1"),
            ("standard_conforming_strings", "on"), ("search_path", "pg_catalog,public,pg_temp"),
            ("synchronous_commit", "on"), ("statement_timeout", String(statementTimeout.milliseconds)),
            ("lock_timeout", String(lockTimeout.milliseconds)),
            ("idle_in_transaction_session_timeout", "15000"),
        ]
        return [
            "options": settings.map { "-c \($0.0)=\($0.1)" }.joined(separator: " "),
            "client_encoding": "UTF8",
            "application_name": "powersync-backend",
        ]
    }
}

extension Duration {
    /// Whole milliseconds.
    var milliseconds: Int64 { components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000 }
}
