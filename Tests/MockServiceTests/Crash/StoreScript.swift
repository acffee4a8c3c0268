import PowerSyncMockService
import PowerSyncPostgres
import PowerSyncTestSupport
import PowerSyncWire

/// The transactions of a source that there is not, each drawn by a seed and its number alone: whoever goes on behind a
/// kill, and whoever judges, meets the same.
struct StoreScript {
    /// A row of the one table.
    struct Row: Equatable {
        let id: String
        let owner: String
        let text: String

        /// As replication tells it.
        var tuple: PgOutputTuple { [.text(id), .text(owner), .text(text)] }
        /// As clients get it.
        var data: String { #"{"id":"\#(id)","owner":"\#(owner)","big":"\#(text)"}"# }
    }

    /// One change of a transaction; a row that it needs need not be there.
    enum Change: Equatable {
        case put(Row, isInsert: Bool)
        case move(from: String, Row)
        case delete(String)
        case truncate
    }

    /// The configuration: a bucket for each owner.
    static let config = """
        config: {edition: 3}
        streams:
          s: {auto_subscribe: true, query: SELECT * FROM t WHERE owner = auth.user_id()}
        """
    /// The table of the rows.
    static let table = TableDescription(
        oid: 7, schema: "public", name: "t",
        columns: [
            SourceColumn(name: "id", typeOID: 25, isIdentity: true),
            SourceColumn(name: "owner", typeOID: 25, isIdentity: false),
            SourceColumn(name: "big", typeOID: 25, isIdentity: false),
        ])
    /// What lies between two commits in the source's log.
    private static let distance: UInt64 = 16

    /// What the transactions are drawn by.
    let seed: Int

    /// Where a transaction is committed; transactions count from 1.
    static func position(of number: Int) -> LSN { LSN(rawValue: UInt64(number) * distance) }

    /// The transaction that is committed at a position, 0 for the beginning; nil if none is.
    static func number(at position: LSN) -> Int? {
        position.rawValue % distance == 0 ? Int(position.rawValue / distance) : nil
    }

    /// What a transaction changes, in order.
    func changes(of number: Int) -> [Change] {
        var random = SeededRandom(seed: seed &* 1_000_003 &+ number)
        var changes: [Change] = random.once(in: 40) ? [.truncate] : []
        for _ in 0...random.below(16) {
            let id = "r\(random.below(60))"
            // Some do not fit into a page.
            let length = random.once(in: 6) ? 2000 + random.below(12_000) : random.below(120)
            let row = Row(
                id: id, owner: "u\(random.below(4))",
                text: "\(number) " + String(repeating: "x", count: length))
            switch random.below(10) {
            case 0, 1: changes.append(.delete(id))
            case 2: changes.append(.move(from: "r\(random.below(60))", row))
            default: changes.append(.put(row, isInsert: random.once(in: 2)))
            }
        }
        return changes
    }

    /// The rows that there are behind a transaction, by id.
    func rows(through last: Int) -> [String: Row] {
        var rows: [String: Row] = [:]
        for number in stride(from: 1, through: last, by: 1) {
            for change in changes(of: number) {
                switch change {
                case .put(let row, _): rows[row.id] = row
                case .move(let former, let row):
                    rows[former] = nil
                    rows[row.id] = row
                case .delete(let id): rows[id] = nil
                case .truncate: rows = [:]
                }
            }
        }
        return rows
    }

    /// What clients hold of each bucket behind a transaction; buckets without rows are left out.
    func held(through last: Int, stream: StreamNumber) -> [ExactText: Set<StoreCheck.HeldRow>] {
        var held: [ExactText: Set<StoreCheck.HeldRow>] = [:]
        for row in rows(through: last).values {
            held[ExactText("\(stream)#s|0[\"\(row.owner)\"]"), default: []].insert(
                StoreCheck.HeldRow(type: Self.table.name, id: row.id, data: row.data))
        }
        return held
    }
}

extension StoreScript.Change {
    /// The change as replication tells it.
    func event(of table: SourceTable) -> ReplicationEvent {
        switch self {
        case .put(let row, let isInsert):
            .change(table, isInsert ? .insert(row.tuple) : .update(old: nil, new: row.tuple))
        case .move(let former, let row):
            .change(table, .update(old: [.text(former), .null, .null], new: row.tuple))
        case .delete(let id): .change(table, .delete([.text(id), .null, .null]))
        case .truncate: .truncate(table)
        }
    }
}
