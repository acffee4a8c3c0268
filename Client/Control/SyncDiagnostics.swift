import PowerSyncWire

/// What an iteration tells tools about the data that arrives (client-core 6.13); only on demand.
package enum SyncDiagnosticsEvent: Sendable, Hashable {
    /// Progress of buckets under their real names; `incremental`: all others are as they were.
    case buckets([BucketProgress], incremental: Bool)
    /// A column was seen for the first time, or with values of another type than before.
    case column(table: String, column: String, type: ColumnType)

    /// The type that values of a column have.
    package enum ColumnType: String, Sendable {
        /// Texts, and what SQLite only stores as text.
        case text = "String"
        /// Whole numbers, and true and false.
        case integer = "Integer"
        /// Numbers with a fraction or an exponent.
        case real = "Real"
    }

    /// The progress of one bucket.
    package struct BucketProgress: Sendable, Hashable {
        /// Its name.
        package var name: String
        /// 0 is the most urgent.
        package var priority: Int
        /// Its operations at the last complete checkpoint.
        package var atLast: Int64
        /// Operations downloaded since.
        package var sinceLast: Int64
        /// How many operations it holds.
        package var target: Int64
    }

    /// The event as the official core writes it.
    var member: JSONMember {
        switch self {
        case .buckets(let buckets, let incremental):
            JSONMember(
                "BucketStateChange",
                .object([
                    JSONMember("changes", .array(buckets.map(\.json))),
                    JSONMember("incremental", .bool(incremental)),
                ]))
        case .column(let table, let column, let type):
            JSONMember(
                "SchemaChange",
                .object([
                    JSONMember("table", .string(table)), JSONMember("column", .string(column)),
                    JSONMember("value_type", .string(type.rawValue)),
                ]))
        }
    }
}

extension SyncDiagnosticsEvent.BucketProgress {
    fileprivate var json: JSON {
        .object([
            JSONMember("name", .string(name)),
            JSONMember(
                "progress",
                .object([
                    JSONMember("priority", .integer(priority)), JSONMember("at_last", .integer(atLast)),
                    JSONMember("since_last", .integer(sinceLast)),
                    JSONMember("target_count", .integer(target)),
                ])),
        ])
    }
}

/// What an iteration remembers for its diagnostics.
struct SyncDiagnostics: Sendable {
    private struct Column: Hashable {
        var table: ExactText
        var name: ExactText
    }

    private var buckets: [ExactText: SyncDiagnosticsEvent.BucketProgress] = [:]
    private var columns: [Column: SyncDiagnosticsEvent.ColumnType] = [:]

    /// Begins anew with the buckets of a checkpoint.
    mutating func track(_ checkpoint: TrackedCheckpoint, _ counters: [ExactText: BucketCounters])
        -> SyncDiagnosticsEvent
    {
        buckets = checkpoint.buckets.mapValues { bucket in
            let counters = counters[ExactText(bucket.bucket)] ?? BucketCounters(atLast: 0, sinceLast: 0)
            return SyncDiagnosticsEvent.BucketProgress(
                name: bucket.bucket, priority: bucket.effectivePriority, atLast: counters.atLast,
                sinceLast: counters.sinceLast, target: bucket.count ?? 0)
        }
        return .buckets(buckets.values.sorted { $0.name < $1.name }, incremental: false)
    }

    /// Counts operations by their buckets; nil if the checkpoint names none of these.
    mutating func add(_ counts: [ExactText: Int]) -> SyncDiagnosticsEvent? {
        var changed: [SyncDiagnosticsEvent.BucketProgress] = []
        for (bucket, count) in counts {
            guard var progress = buckets[bucket] else { continue }
            progress.sinceLast += Int64(count)
            buckets[bucket] = progress
            changed.append(progress)
        }
        if changed.isEmpty { return nil }
        return .buckets(changed.sorted { $0.name < $1.name }, incremental: true)
    }

    /// Counts what a complete checkpoint has made the state of the last sync.
    mutating func complete(_ checkpoint: TrackedCheckpoint) {
        for (name, bucket) in checkpoint.buckets {
            guard let count = bucket.count else { continue }
            buckets[name]?.atLast = count
            buckets[name]?.sinceLast = 0
        }
    }

    /// Looks at the rows of a line; a column that once held a text stays one.
    mutating func look(at line: DataLine) -> [SyncDiagnosticsEvent] {
        var events: [SyncDiagnosticsEvent] = []
        for operation in line.operations where operation.kind == .put {
            // A row that is no JSON object is the store's matter, not that of diagnostics.
            guard let table = operation.objectType, let data = operation.data,
                let members = (try? JSON.parse(data))?.objectMembers
            else { continue }
            for member in members where member.name != "id" {
                guard let type = SyncDiagnosticsEvent.ColumnType(member.value) else { continue }
                let column = Column(table: ExactText(table), name: ExactText(member.name))
                guard columns[column] != type, columns[column] != .text else { continue }
                columns[column] = type
                events.append(.column(table: table, column: member.name, type: type))
            }
        }
        return events
    }
}

extension SyncDiagnosticsEvent.ColumnType {
    /// Nil for null, which fits every type.
    fileprivate init?(_ value: JSON) {
        switch value {
        case .null: return nil
        case .bool: self = .integer
        case .number(let lexeme): self = Int64(lexeme) == nil ? .real : .integer
        case .string, .array, .object: self = .text
        }
    }
}
