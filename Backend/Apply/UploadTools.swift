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
    private let known = Lock<(number: Int, shapes: PlanShapes)?>(nil)

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

    /// Returns the shapes of operations in what is known of the catalog, which all transactions find together.
    ///
    /// Those of another knowledge are kept no longer; one that is older by now has shapes of its own.
    func shapes(of knowledge: CatalogKnowledge) -> PlanShapes {
        known.withLock { known in
            if let known, known.number == knowledge.number { return known.shapes }
            let shapes = PlanShapes(knowledge.tables)
            if (known?.number ?? 0) < knowledge.number { known = (knowledge.number, shapes) }
            return shapes
        }
    }
}
