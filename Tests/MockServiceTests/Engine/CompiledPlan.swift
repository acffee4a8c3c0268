import PowerSyncServiceEngine
import PowerSyncSyncRules

/// A configuration that is refused.
struct RefusedConfiguration: Error {
    /// What is wrong with it.
    let messages: [String]
}

extension SyncPlan {
    /// What a text means.
    static func compiled(_ text: String) throws -> SyncPlan {
        let config = SyncConfig.compile(text)
        guard let plan = config.plan else {
            throw RefusedConfiguration(messages: config.diagnostics.all.map(\.message))
        }
        return plan
    }
}

extension EvaluationContext {
    /// A context of a plan without lookups.
    init(stream: StreamNumber, plan: SyncPlan, progress: @escaping @Sendable () -> Void = {}) {
        self.init(ServedPlan(stream: stream, plan: plan), progress: progress)
    }
}
