import PowerSyncCommandLine
import PowerSyncPostgres
import PowerSyncSystem

/// Everything that applying a transaction needs and that all transactions share.
package struct UploadTools: Sendable {
    let pool: PostgresPool
    let catalog: CatalogWatch
    let quota: DeadLetterQuota
    let settings: SessionSettings
    let roles: RoleSettings
    let policy: RetryPolicy
    let environment: BackendEnvironment
    let poller: Poller
    let log: Log
    let metrics: BackendMetrics

    /// Makes the tools of their parts.
    package init(
        pool: PostgresPool, catalog: CatalogWatch, quota: DeadLetterQuota, settings: SessionSettings,
        roles: RoleSettings, policy: RetryPolicy,
        environment: BackendEnvironment, poller: Poller, log: Log, metrics: BackendMetrics = BackendMetrics()
    ) {
        self.pool = pool
        self.catalog = catalog
        self.quota = quota
        self.settings = settings
        self.roles = roles
        self.policy = policy
        self.environment = environment
        self.poller = poller
        self.log = log
        self.metrics = metrics
    }
}
