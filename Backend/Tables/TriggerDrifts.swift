import PowerSyncWire

/// What statements missed although the catalog has not changed: names within triggers, for as long as that lasts (backend
/// 3.1).
///
/// An incident begins with the first miss. It ends when work of its kind is committed here, when the catalog changes, and when
/// nothing was missed for longer than a migration may take: the next miss is the first of another.
package struct TriggerDrifts: Sendable {
    /// Operations of one kind on one table: the same triggers run for them.
    package struct Work: Sendable, Hashable {
        /// The client's name of the table.
        package let table: ExactText
        /// What the operations do.
        package let kind: UploadOperationKind

        /// Makes it of its parts.
        package init(table: String, kind: UploadOperationKind) {
            self.table = ExactText(table)
            self.kind = kind
        }
    }

    private struct Key: Hashable {
        let work: Work
        let sqlstate: String
    }

    private struct Incident {
        let first: ContinuousClock.Instant
        var last: ContinuousClock.Instant
    }

    private var incidents: [Key: Incident] = [:]

    /// Makes drifts of which nothing is known.
    package init() {}

    /// Notes a miss, and tells whether there is no more hope that a migration is on its way.
    ///
    /// - Parameters:
    ///   - work: what was done; where it was of several kinds, as at COMMIT, nobody knows which of them it was, and the
    ///     youngest incident counts.
    ///   - sqlstate: what Postgres said.
    ///   - now: the time.
    ///   - grace: how long a migration may take.
    /// - Returns: whether the incident is that old.
    package mutating func isLasting(
        _ work: Set<Work>, sqlstate: String, at now: ContinuousClock.Instant, grace: Duration
    ) -> Bool {
        var isLasting = !work.isEmpty
        for work in work {
            let key = Key(work: work, sqlstate: sqlstate)
            let known = incidents[key].flatMap { now - $0.last > grace ? nil : $0.first }
            incidents[key] = Incident(first: known ?? now, last: now)
            isLasting = isLasting && now - (known ?? now) >= grace
        }
        return isLasting
    }

    /// Notes that work was committed: its triggers miss nothing.
    package mutating func end(_ work: Set<Work>) {
        incidents = incidents.filter { !work.contains($0.key.work) }
    }

    /// Forgets everything: the catalog has changed.
    package mutating func endAll() { incidents = [:] }
}
