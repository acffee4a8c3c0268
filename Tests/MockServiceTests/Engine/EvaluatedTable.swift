import PowerSyncServiceEngine
import PowerSyncSyncRules

/// A table of a configuration, ready to be evaluated.
struct EvaluatedTable {
    /// The configuration.
    let config: SyncPlan
    /// The table.
    let plan: TablePlan
    /// The names of its output types, whose ids are their indexes.
    let types: [String]

    /// Makes a record of a table in a store of its own, and its plan.
    init(
        _ config: SyncPlan, _ description: TableDescription, _ catalog: TypeCatalog,
        keepsLargeValues: Bool = true
    ) async throws {
        let store = try await ServiceStore.open(path: ":memory:", readers: 0)
        let served = ServedPlan(
            stream: 1, plan: config, lookups: config.lookups.indices.map { Int64($0) + 1 })
        let table: SourceTable
        do {
            table = try await store.resolve(
                description, types: catalog, EvaluationContext(served))
        } catch {
            await store.close()
            throw error
        }
        await store.close()
        var types: [String] = []
        plan = TablePlan(table, served, keepsLargeValues: keepsLargeValues) { name in
            // As in a store, a name has one id: programs of one output share a record.
            if let known = types.firstIndex(where: { $0.utf8.elementsEqual(name.utf8) }) {
                return Int64(known)
            }
            types.append(name)
            return Int64(types.count - 1)
        }
        self.config = config
        self.types = types
    }

    /// Evaluates changes of the table.
    func evaluate(
        limits: StoreLimits = StoreLimits(), _ build: (inout BatchBuilder) -> Void
    ) -> EvaluatedBatch {
        var builder = BatchBuilder([plan])
        build(&builder)
        return RowEvaluation.evaluateAtOnce(
            builder.batch, SlotConverter(options: config.options), limits: limits)
    }
}
