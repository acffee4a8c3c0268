import PowerSyncBackend

extension BackendConfiguration {
    /// A configuration as an environment for development makes it with `DEV_OPEN_SCHEMA`, `DEV_EPHEMERAL_KEYS` and
    /// `UPLOAD_ACCEPTS_SYNC_TOKEN`: what tests begin with.
    static func development(
        databaseURI: String = "", powersyncURL: String = "http://sync.example.com"
    ) -> BackendConfiguration {
        var configuration = BackendConfiguration(
            databaseURI: databaseURI, powersyncURL: powersyncURL, keys: .ephemeral, tables: .openSchema)
        configuration.acceptsSyncTokens = true
        return configuration
    }
}
