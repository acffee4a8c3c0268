import PowerSyncPostgres
import PowerSyncPostgresValues
import PowerSyncServiceEngine
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
        /// A row gets another owner, and is not told whole if it is large; nothing happens to one that is not there.
        case give(String, to: String)
    }

    /// Whose rows there are.
    static let owners = (0..<4).map { "u\($0)" }
    /// The names of the stream in configurations that take turns.
    static let names = ["s", "z", "y"]
    /// The configuration of those who need but one.
    static let config = config(named: names[0])
    /// Texts from so many bytes on are large: an update does not tell them again.
    private static let largeText = 2000
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
    /// Whether there are also transactions that change nothing, and rows of which an update leaves values out.
    var hasAll = false

    /// A configuration: a bucket for each owner, in a stream of its own name.
    static func config(named name: String) -> String {
        """
        config: {edition: 3}
        streams:
          \(name): {auto_subscribe: true, query: SELECT * FROM t WHERE owner = auth.user_id()}
        """
    }

    /// What the stream of the table is called in a configuration, which may have others behind it.
    static func name(of text: String) -> String { names.first { text.hasPrefix(config(named: $0)) } ?? "" }

    /// Where a transaction is committed; transactions count from 1.
    static func position(of number: Int) -> LSN { LSN(rawValue: UInt64(number) * distance) }

    /// The transaction that is committed at a position, 0 for the beginning; nil if none is.
    static func number(at position: LSN) -> Int? {
        position.rawValue % distance == 0 ? Int(position.rawValue / distance) : nil
    }

    /// What a transaction changes, in order.
    func changes(of number: Int) -> [Change] {
        if hasAll, number.isMultiple(of: 7) { return [] }
        var random = SeededRandom(seed: seed &* 1_000_003 &+ number)
        var changes: [Change] = random.once(in: 40) ? [.truncate] : []
        for _ in 0...random.below(16) {
            let id = "r\(random.below(60))"
            // Some do not fit into a page.
            let length = random.once(in: 6) ? Self.largeText + random.below(12_000) : random.below(120)
            let row = Row(
                id: id, owner: Self.owners[random.below(Self.owners.count)],
                text: "\(number) " + String(repeating: "x", count: length))
            switch random.below(10) {
            case 0, 1: changes.append(.delete(id))
            case 2: changes.append(.move(from: "r\(random.below(60))", row))
            case 3 where hasAll, 4 where hasAll: changes.append(.give(id, to: row.owner))
            default: changes.append(.put(row, isInsert: random.once(in: 2)))
            }
        }
        return changes
    }

    /// The rows that there are behind a transaction, by id.
    func rows(through last: Int) -> [String: Row] {
        var source = ScriptRows(self)
        source.advance(through: last)
        return source.rows
    }

    /// What clients hold of each bucket when there are some rows; buckets without rows are left out.
    static func held(_ rows: [String: Row], of stream: StreamRecord) -> [ExactText: Set<StoreCheck.HeldRow>] {
        let name = name(of: stream.config)
        var held: [ExactText: Set<StoreCheck.HeldRow>] = [:]
        for row in rows.values {
            held[ExactText("\(stream.number)#\(name)|0[\"\(row.owner)\"]"), default: []].insert(
                StoreCheck.HeldRow(type: table.name, id: row.id, data: row.data))
        }
        return held
    }

    /// Whether an update leaves a text out that it does not change.
    static func isLarge(_ text: String) -> Bool { text.utf8.count >= largeText }
}

/// The rows of a script's source, which commits one transaction after the other.
struct ScriptRows {
    private let script: StoreScript
    /// The transaction that was committed last; 0 before the first.
    private(set) var last = 0
    /// The rows that there are, by id.
    private(set) var rows: [String: StoreScript.Row] = [:]

    /// Begins before the first transaction.
    init(_ script: StoreScript) { self.script = script }

    /// Commits up to a transaction.
    mutating func advance(through number: Int) {
        while last < number { commit() }
    }

    /// Commits the next transaction.
    ///
    /// - Returns: What the log tells of it.
    @discardableResult
    mutating func commit() -> [StoreScript.Change] {
        last += 1
        var told: [StoreScript.Change] = []
        for change in script.changes(of: last) {
            switch change {
            case .put(let row, _): rows[row.id] = row
            case .move(let former, let row):
                rows[former] = nil
                rows[row.id] = row
            case .delete(let id): rows[id] = nil
            case .truncate: rows = [:]
            case .give(let id, let owner):
                guard let former = rows[id] else { continue }
                let row = StoreScript.Row(id: id, owner: owner, text: former.text)
                rows[id] = row
                if !StoreScript.isLarge(row.text) {
                    told.append(.put(row, isInsert: false))
                    continue
                }
            }
            told.append(change)
        }
        return told
    }
}

extension StoreScript.Change {
    /// The row as it is told now, and as it was.
    private struct Told {
        let kind: ChangeBatch.Change.Kind
        let new: PgOutputTuple?
        var old: PgOutputTuple?
    }

    /// What is told of a row; nil for all rows at once.
    private var told: Told? {
        switch self {
        case .put(let row, let isInsert): Told(kind: isInsert ? .insert : .update, new: row.tuple)
        case .move(let former, let row):
            Told(kind: .update, new: row.tuple, old: [.text(former), .null, .null])
        case .delete(let id): Told(kind: .delete, new: nil, old: [.text(id), .null, .null])
        case .give(let id, let owner):
            Told(kind: .update, new: [.text(id), .text(owner), .unchangedToast])
        case .truncate: nil
        }
    }

    /// Adds what replication tells to a batch, whose only table it is of.
    func add(to batch: inout BatchBuilder) {
        if let told { batch.add(told.kind, new: told.new, old: told.old) } else { batch.add(.truncate(0)) }
    }

    /// The change as replication tells it.
    func event(of table: SourceTable) -> ReplicationEvent {
        guard let told else { return .truncate(table) }
        return switch (told.kind, told.new) {
        case (.insert, let new?): .change(table, .insert(new))
        case (_, let new?): .change(table, .update(old: told.old, new: new))
        case (_, nil): .change(table, .delete(told.old ?? []))
        }
    }
}
