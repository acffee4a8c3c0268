import PowerSyncPostgres
import PowerSyncPostgresValues
import PowerSyncTestSupport
import PowerSyncWire

@testable import PowerSyncServiceEngine

/// Transactions of a source that there is not, in which everything comes: of the table of `StoreFixture`.
struct RandomHistory {
    /// Each row is in its owner's bucket; one query needs all values, another one few, and a third one a large one to say
    /// that a row is in no bucket.
    static let config = """
        config: {edition: 3}
        streams:
          s: {auto_subscribe: true, query: SELECT * FROM t WHERE owner = auth.user_id()}
          few: {auto_subscribe: true, query: "SELECT id, owner FROM t WHERE owner < 'u2'"}
          big: {auto_subscribe: true, query: "SELECT id FROM t WHERE big < 'z'"}
        """

    var random: SeededRandom
    private var position: UInt64 = 100

    init(_ random: SeededRandom) { self.random = random }

    /// The position of the log now.
    var now: LSN { LSN(rawValue: position) }

    /// Moves the log on.
    mutating func next() -> LSN {
        position += 10
        return now
    }

    private mutating func id() -> String { "r\(random.below(12))" }

    private mutating func row(_ id: String, mayBePartial: Bool) -> PgOutputTuple {
        let size = random.pick([0, 5, 5, 20, 1020, 1100])
        var big = PgOutputValue.text(String(repeating: random.pick(["y", "é", "\""]), count: size))
        if random.once(in: 9) { big = .null }
        if mayBePartial, random.once(in: 3) { big = .unchangedToast }
        return [.text(id), random.once(in: 4) ? .null : .text("u\(random.below(4))"), big]
    }

    /// One change of a row that may be there or not.
    ///
    /// - Parameter mayBePartial: Whether large values may be left out.
    /// - Returns: The change.
    mutating func change(mayBePartial: Bool) -> RowChange {
        let id = id()
        switch random.below(12) {
        case 0, 1: return .delete([.text(id), .null, .null])
        case 2, 3:
            let old = random.once(in: 2) ? id : self.id()
            return .update(old: [.text(old), .null, .null], new: row(id, mayBePartial: mayBePartial))
        case 4, 5, 6: return .insert(row(id, mayBePartial: false))
        default: return .update(old: nil, new: row(id, mayBePartial: mayBePartial))
        }
    }

    /// What a group tells: transactions, the last of which may go on, or rows that were read.
    ///
    /// - Parameters:
    ///   - table: The table.
    ///   - mayBePartial: Whether large values may be left out.
    ///   - isAhead: Whether rows were read.
    /// - Returns: What the source tells.
    mutating func group(_ table: SourceTable, mayBePartial: Bool, isAhead: Bool) -> [ReplicationEvent] {
        if isAhead {
            return (0..<1 + random.below(8)).map { _ in
                let row = row(id(), mayBePartial: false)
                return .change(table, random.once(in: 3) ? .readAgain(row) : .snapshot(row))
            }
        }
        var events: [ReplicationEvent] = []
        for _ in 0..<random.below(4) {
            let committed = next()
            events.append(.begun(committed))
            for number in 0..<random.below(8) {
                if random.once(in: 40) {
                    events.append(.told(TransactionProgress(finalLSN: committed, changes: number)))
                    events.append(.truncate(table))
                } else {
                    events.append(.change(table, change(mayBePartial: mayBePartial)))
                }
            }
            events.append(.committed(LSN(rawValue: committed.rawValue + 2)))
        }
        guard random.once(in: 4) else { return events }
        let committed = next()
        events.append(.begun(committed))
        events.append(.change(table, change(mayBePartial: mayBePartial)))
        events.append(.told(TransactionProgress(finalLSN: committed, position: now, changes: 1)))
        return events
    }

    /// Cuts events into several pieces; each says again of which transaction it goes on.
    mutating func cut(_ events: [ReplicationEvent]) -> [[ReplicationEvent]] {
        var pieces: [[ReplicationEvent]] = [[]]
        var begun: ReplicationEvent?
        for event in events {
            if random.once(in: 5), !pieces[pieces.count - 1].isEmpty {
                pieces.append(begun.map { [$0] } ?? [])
            }
            if case .begun = event { begun = event }
            pieces[pieces.count - 1].append(event)
        }
        return pieces
    }
}

extension ReplicationEvent {
    /// The same event of another record of the table.
    func of(_ other: SourceTable) -> ReplicationEvent {
        switch self {
        case .change(_, let change): .change(other, change)
        case .truncate: .truncate(other)
        case .identityIsOver: .identityIsOver(other)
        case .begun, .committed, .told: self
        }
    }
}
