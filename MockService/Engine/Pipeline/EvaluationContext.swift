import PowerSyncSyncRules
import PowerSyncWire

/// Whose rows are written, and what they are evaluated and converted with.
package struct EvaluationContext: Sendable {
    /// The plan of the stream that is written.
    package let served: ServedPlan
    /// What values are converted with.
    package let converter: SlotConverter
    /// Is called now and then while much is written at once.
    let progress: @Sendable () -> Void

    /// Makes a context.
    ///
    /// - Parameters:
    ///   - served: The plan of the stream that is written.
    ///   - progress: Is called now and then while much is written at once.
    package init(_ served: ServedPlan, progress: @escaping @Sendable () -> Void = {}) {
        self.served = served
        self.progress = progress
        converter = SlotConverter(options: served.plan.options)
    }

    /// The stream that is written.
    package var stream: StreamNumber { served.stream }

    /// Its plan.
    package var plan: SyncPlan { served.plan }

    /// Whether rows of a table matter.
    ///
    /// - Parameters:
    ///   - schema: The schema of the table.
    ///   - table: The table.
    /// - Returns: Whether the plan reads it.
    package func uses(schema: String, table: String) -> Bool { plan.reads(schema: schema, table: table) }
}

extension SyncPlan {
    /// The tables that its queries read, each pattern once, in the order of the plan: those of buckets first, as the real
    /// service reads them.
    package var tables: [TablePattern] {
        var known: Set<TablePattern> = []
        let all =
            sources.flatMap { $0.processors.map(\.table) } + lookups.map(\.table)
            + writeCheckpointPayloads.map(\.table)
        return all.filter { known.insert($0).inserted }
    }

    /// Whether rows of a table matter.
    ///
    /// - Parameters:
    ///   - schema: The schema of the table.
    ///   - table: The table.
    /// - Returns: Whether a query reads it.
    package func reads(schema: String, table: String) -> Bool {
        let (schema, table) = (ExactText(schema), ExactText(table))
        func isRead(_ pattern: TablePattern) -> Bool {
            pattern.matches(tag: TablePlan.tag, schema: schema, name: table)
        }
        return sources.contains { $0.processors.contains { isRead($0.table) } }
            || lookups.contains { isRead($0.table) } || writeCheckpointPayloads.contains { isRead($0.table) }
    }
}
