import PowerSyncPostgres
import PowerSyncWire

/// What an attempt will send, made from the catalog as it was known at one moment.
struct AttemptPlan: Sendable {
    /// The tables that uploads may write.
    let tables: UploadTables
    /// Of these the ones that the operations name, as they were read.
    let catalog: [CatalogEntry]
    /// The operations to execute.
    let operations: [PlannedOperation]
    /// The operations that will never be accepted, where the others are executed without them.
    let refusals: [Int: Refusal]
    /// The statements to be sent, each of some neighbouring operations.
    let runs: [UploadRun]
    /// Their SQL.
    let work: [PostgresStatement]

    /// What its statements do, as far as triggers tell it apart.
    ///
    /// - Parameter indices: of which operations; nil for all.
    /// - Returns: the kinds of work; what sends no statement is none.
    func work(of indices: Set<Int>? = nil) -> Set<TriggerDrifts.Work> {
        var work: Set<TriggerDrifts.Work> = []
        for operation in runs.lazy.flatMap(\.operations) where indices?.contains(operation.index) ?? true {
            work.insert(TriggerDrifts.Work(table: operation.table.name, kind: operation.kind))
        }
        return work
    }

    /// Makes a plan.
    ///
    /// - Parameters:
    ///   - planner: who planned the operations.
    ///   - catalog: the tables that the operations name as they came, refused ones included.
    ///   - operations: those to execute.
    ///   - refusals: those that are not executed.
    ///   - alone: the indices of operations that have statements of their own.
    /// - Throws: `Refusal`, where the token's subject cannot own rows.
    init(
        _ planner: UploadPlanner, _ catalog: [CatalogEntry], _ operations: [PlannedOperation],
        refusals: [Int: Refusal], alone: Set<Int>
    ) throws(Refusal) {
        runs = UploadRun.runs(of: operations, alone: alone)
        var work: [PostgresStatement] = []
        for run in runs {
            let sql = UploadSQL(run, owner: try planner.owner(of: run.operations[0].table))
            work.append(PostgresStatement(sql.text, sql.parameters))
        }
        self.work = work
        tables = planner.tables
        self.catalog = catalog
        self.operations = operations
        self.refusals = refusals
    }
}

extension UploadTables {
    /// The tables that operations name, as they were read: in one order for all transactions, which lock them.
    func entries(of operations: some Sequence<UploadOperation>) -> [CatalogEntry] {
        var entries: [ExactText: CatalogEntry] = [:]
        for name in operations.lazy.map({ ExactText($0.table) }) where entries[name] == nil {
            entries[name] = tables[name]?.source ?? missing[name]
        }
        // Each once: two names of the map may be one table.
        var seen: Set<Catalog.Name> = []
        return entries.sorted { $0.key < $1.key }.map(\.value).filter { seen.insert($0.name).inserted }
    }
}
