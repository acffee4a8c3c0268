import PowerSyncPostgres
import PowerSyncWire

/// What an attempt will send, made from the catalog as it was known at one moment.
struct AttemptPlan: Sendable {
    /// One statement.
    struct Step: Sendable {
        /// What it is for.
        enum Part: Sendable {
            /// Asks whether the rows that the run names by this parent are the caller's.
            case guarding(UploadParent)
            /// Makes a role the one who acts.
            case takingRole
            /// Asks which rows are there that the run may not see (`StrictProbe`).
            case asking
            /// Does what the run does.
            case writing
        }

        /// The statement.
        let statement: PostgresStatement
        /// The place of its run.
        let run: Int
        /// What it is for.
        let part: Part

        /// Whether it does what the run does.
        var isWriting: Bool {
            if case .writing = part { true } else { false }
        }
    }

    /// The tables that uploads may write.
    let tables: UploadTables
    /// Of these the ones that the operations name, as they were read.
    let catalog: [CatalogEntry]
    /// The operations to execute.
    let operations: [PlannedOperation]
    /// The operations that will never be accepted, where the others are executed without them.
    let refusals: [Int: Refusal]
    /// The operations that are done together (`RunOrder`).
    let runs: [UploadRun]
    /// The statements to be sent, those of each run behind those of the one before.
    let steps: [Step]

    /// The steps of one run.
    func steps(of run: Int) -> [Step] { steps.filter { $0.run == run } }

    /// What the statements of the runs returned, of the results of all steps.
    func touched(_ results: [PostgresResult]) -> [TouchedRows] {
        zip(steps, results).filter { $0.0.isWriting }.map { TouchedRows(of: runs[$0.0.run], $0.1) }
    }

    /// What its statements do, as far as triggers tell it apart.
    ///
    /// - Parameter indices: of which operations; nil for all.
    /// - Returns: the kinds of work; what sends no statement is none.
    func work(of indices: Set<Int>? = nil) -> Set<TriggerDrifts.Work> {
        var work: Set<TriggerDrifts.Work> = []
        for run in runs where run.operations.contains(where: { indices?.contains($0.index) ?? true }) {
            let shape = run.operations[0].shape
            work.insert(TriggerDrifts.Work(table: shape.table.name, kind: shape.kind))
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
    ///   - strict: tells hidden rows from missing ones; nil does not.
    /// - Throws: `Refusal`, where the token's subject cannot own rows.
    init(
        _ planner: UploadPlanner, _ catalog: [CatalogEntry], _ operations: [PlannedOperation],
        refusals: [Int: Refusal], alone: Set<Int>, strict: StrictProbe?
    ) throws(Refusal) {
        runs = RunOrder.runs(of: operations, alone: alone)
        var steps: [Step] = []
        for (place, run) in runs.enumerated() {
            for question in try ParentGuard.guards(before: run, planner) {
                steps.append(
                    Step(statement: question.statement, run: place, part: .guarding(question.parent)))
            }
            let questions = strict?.questions(before: run) ?? []
            for question in questions {
                steps.append(Step(statement: question.statement, run: place, part: question.part))
            }
            let sql = UploadSQL(
                run, owner: try planner.owner(of: run.operations[0].table), isStrict: !questions.isEmpty)
            steps.append(Step(statement: sql.statement, run: place, part: .writing))
        }
        self.steps = steps
        tables = planner.tables
        self.catalog = catalog
        self.operations = operations
        self.refusals = refusals
    }
}

extension UploadTables {
    /// The tables that operations name, as they were read: in one order for all transactions, which lock them; behind them those
    /// of the parents that operations may name, which are compared and not locked.
    ///
    /// - Parameters:
    ///   - operations: those of a transaction.
    ///   - places: which of them count.
    /// - Returns: the tables.
    func entries(of operations: [UploadOperation], at places: [Int]) -> [CatalogEntry] {
        var entries: [ExactText: CatalogEntry] = [:]
        var parents: [CatalogEntry] = []
        var children: Set<ExactText> = []
        // Neighbours name the same table, mostly.
        var last: (name: ExactText, namesParents: Bool)?
        for place in places {
            let name = ExactText(operations[place].table)
            let namesParents = operations[place].kind != .delete
            if let last, last.name == name, last.namesParents || !namesParents { continue }
            last = (name, namesParents)
            if entries[name] == nil { entries[name] = tables[name]?.source ?? missing[name] }
            guard namesParents, children.insert(name).inserted else { continue }
            for parent in tables[name]?.parents ?? [] {
                parents.append(
                    CatalogEntry(name: parent.source.name, digest: parent.source.digest, isLockable: false))
            }
        }
        // Each once: two names of the map may be one table.
        var seen: Set<Catalog.Name> = []
        return (entries.sorted { $0.key < $1.key }.map(\.value) + parents)
            .filter { seen.insert($0.name).inserted }
    }
}
