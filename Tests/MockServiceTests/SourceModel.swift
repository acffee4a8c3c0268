import PowerSyncPostgres
import PowerSyncTestSupport
import PowerSyncWire

/// An operation as it is compared: without its id and checksum.
struct ExpectedOperation: Hashable, CustomStringConvertible {
    let table: String
    let id: String
    /// Nil for a REMOVE.
    let data: String?

    var description: String { "\(table)/\(id) \(data.map { String($0.prefix(160)) } ?? "REMOVE")" }
}

/// A table of the source that random transactions change, and what of it a client of the user u1 holds (service 4.6 to 4.8,
/// 7.5, 7.7).
struct ModelTable {
    /// The replica identities.
    enum Identity: String, CaseIterable { case primaryKey, full, index, nothing }

    struct Column {
        var name: String
        var type: String
    }

    /// What makes the service take it for another table.
    struct Signature: Equatable {
        var generation: Int
        var membership: Int
        var isAway: Bool
        var identity: String
    }

    /// A row that the client holds.
    struct Held {
        var data: String
        /// The transaction that wrote it.
        var transaction: Int
        /// How many operations show it.
        var copies = 1
    }

    private static let firstColumns = [
        Column(name: "id", type: "text"), Column(name: "owner", type: "text"),
        Column(name: "k", type: "int4"), Column(name: "n", type: "int4"), Column(name: "big", type: "text"),
    ]

    let name: String
    /// The columns of the primary key, among `id` and `k`.
    let key: [String]
    var identity: Identity
    var columns = Self.firstColumns
    /// Counts how often it was dropped and made again.
    var generation = 0
    /// Counts how often it came into the publication.
    var membership = 1
    /// Whether it is in the publication.
    var isPublished = true
    /// Whether it has a name that no stream knows.
    var isAway = false
    /// What the service knows the table as; nil if it does not.
    var recorded: Signature?
    /// What the client holds, by id.
    var held: [String: Held] = [:]
    /// Whether rows lie elsewhere, or have other columns, since the last change that the service saw.
    var isMoved = false
    /// The transaction at which the service saw that; large values that were written until then are not known to it.
    var noticed = -1
    private var lastColumn = 0

    init(name: String, key: [String], identity: Identity) {
        self.name = name
        self.key = key
        self.identity = identity
        recorded = signature
    }

    /// The name on the source now.
    var sourceName: String { isAway ? "away_\(name)" : name }

    var signature: Signature {
        let names: [String] =
            switch identity {
            case .primaryKey: key
            case .full: columns.map(\.name)
            case .index: ["k"]
            case .nothing: []
            }
        let parts = columns.filter { names.contains($0.name) }.map { "\($0.type) \($0.name)" }
        return Signature(
            generation: generation, membership: membership, isAway: isAway,
            identity: parts.joined(separator: ","))
    }

    /// The statements that make the table.
    var creation: [String] {
        [
            "CREATE TABLE \(sourceName)(\(columns.map { "\($0.name) \($0.type)" }.joined(separator: ", ")), "
                + "PRIMARY KEY (\(key.joined(separator: ", "))))",
            "ALTER TABLE \(sourceName) ALTER k SET NOT NULL, ALTER big SET STORAGE EXTERNAL",
            "CREATE UNIQUE INDEX \(name)_k_\(generation) ON \(sourceName)(k)",
            setIdentity,
        ] + (isPublished ? [publish("ADD")] : [])
    }

    /// The statement that takes the table into the publication, or out of it.
    func publish(_ word: String) -> String { "ALTER PUBLICATION powersync \(word) TABLE \(sourceName)" }

    var setIdentity: String {
        let words =
            switch identity {
            case .primaryKey: "DEFAULT"
            case .full: "FULL"
            case .index: "USING INDEX \(name)_k_\(generation)"
            case .nothing: "NOTHING"
            }
        return "ALTER TABLE \(sourceName) REPLICA IDENTITY \(words)"
    }

    /// Whether a changed row has another identity.
    func isOther(_ old: JSON, _ new: JSON) -> Bool {
        switch identity {
        case .primaryKey: key.contains { old[$0] != new[$0] }
        case .full: old != new
        case .index: old["k"] != new["k"]
        case .nothing: true
        }
    }

    /// Becomes another table of the name.
    mutating func begin() {
        generation += 1
        isAway = false
        columns = Self.firstColumns
    }

    mutating func newColumn() -> String {
        lastColumn += 1
        return "c\(lastColumn)"
    }
}

/// Runs random statements on the source and foretells what becomes of them.
struct SourceModel {
    private let source: PostgresConnection
    private(set) var tables: [ModelTable]
    private var number = 0
    private var lastRow = 0

    /// What the transaction of now must bring, in order.
    private(set) var expected: [ExpectedOperation] = []
    /// Tables that the service reads anew because of the transaction, or rows of which it has to: only what is left in the
    /// end is compared.
    private(set) var reduced: Set<String> = []
    /// Those of them that the service takes for others than before.
    private var renewed: Set<String> = []
    /// Tables whose rows were moved by the transaction, and those of which it updated rows with large values: the service
    /// looks at both when all is over.
    private var (moved, updatedLarge): (Set<String>, Set<String>) = ([], [])
    /// Tables in which the transaction gave rows with large values other keys: such rows are read again if anything is.
    private var rekeyedLarge: Set<String> = []
    /// The statements of now, for messages.
    private(set) var statements: [String] = []

    init(_ source: PostgresConnection, _ tables: [ModelTable]) {
        self.source = source
        self.tables = tables
    }

    // MARK: Transactions

    /// Makes the tables with some rows, before there is a service.
    mutating func create(_ random: inout SeededRandom) async throws {
        for index in tables.indices {
            for sql in tables[index].creation { try await source.query(sql) }
            for _ in 0..<3 { try await insert(index, &random) }
        }
        expected = []
        reduced = []
        renewed = []
    }

    /// Runs one transaction.
    mutating func transaction(_ random: inout SeededRandom) async throws {
        number += 1
        expected = []
        reduced = []
        renewed = []
        (moved, updatedLarge, rekeyedLarge) = ([], [], [])
        statements = []
        if random.once(in: 12) {
            // Not inside of a transaction.
            let index = random.below(tables.count)
            try await run("VACUUM FULL \(tables[index].sourceName)")
            tables[index].isMoved = true
            return
        }
        if random.once(in: 12) {
            // What a transaction changed before it left the publication is not to be read any more.
            let index = random.below(tables.count)
            try await run(tables[index].publish(tables[index].isPublished ? "DROP" : "ADD"))
            tables[index].isPublished.toggle()
            if tables[index].isPublished { tables[index].membership += 1 }
            return
        }
        try await run("BEGIN")
        if random.once(in: 10) { try await moveOrMakeAgain(random.below(tables.count), &random) }
        for _ in 0..<(1 + random.below(6)) {
            let index = random.below(tables.count)
            if random.once(in: 12) {
                let before = self
                try await run("SAVEPOINT s")
                try await change(index, &random)
                try await run("ROLLBACK TO s")
                let (statements, lastRow) = (statements, lastRow)
                self = before
                (self.statements, self.lastRow) = (statements, lastRow)
            } else if random.once(in: 6) {
                try await alter(index, &random)
            } else {
                try await change(index, &random)
            }
        }
        try await run("COMMIT")
        reduced.formUnion(moved.intersection(updatedLarge))
        if !reduced.isEmpty { reduced.formUnion(rekeyedLarge) }
    }

    /// Rows of a table that the user sees, by id, as they are now.
    func rows(_ table: ModelTable) async throws -> [String: String] {
        let found = try await source.query(
            "SELECT id, row_to_json(t)::text FROM \(table.sourceName) t WHERE owner = 'u1'")
        return Dictionary(
            uniqueKeysWithValues: (0..<found.rowCount).map { (found[$0, 0] ?? "", found[$0, 1] ?? "") })
    }

    /// Takes over what the client was found to hold of a table that was read anew.
    mutating func settle(_ name: String, held: [String: String], copies: [String: Int]) {
        guard let index = tables.firstIndex(where: { $0.name == name }) else { return }
        tables[index].held = Dictionary(
            uniqueKeysWithValues: held.map { id, data in
                (id, ModelTable.Held(data: data, transaction: number, copies: copies[id] ?? 1))
            })
        tables[index].noticed = number
        if renewed.contains(name), !tables[index].isAway { tables[index].recorded = tables[index].signature }
    }

    private mutating func run(_ sql: String) async throws {
        statements.append(String(sql.prefix(200)))
        try await source.query(sql)
    }

    private mutating func returning(_ sql: String) async throws -> PostgresResult {
        statements.append(String(sql.prefix(200)))
        return try await source.query(sql)
    }

    // MARK: Changes

    private mutating func change(_ index: Int, _ random: inout SeededRandom) async throws {
        let table = tables[index]
        let kinds: [(Int, Int)] =
            table.identity == .nothing ? [(8, 0), (1, 5)] : [(6, 0), (5, 1), (3, 2), (2, 3), (4, 4), (1, 5)]
        switch random.pick(weighted: kinds) {
        case 0: for _ in 0...random.below(3) { try await insert(index, &random) }
        case 1: try await update(index, [try assignment(table, &random)], &random)
        case 2 where random.once(in: 3): try await exchangeKeys(index, &random)
        case 2:
            let number = try await freeKey(table, &random)
            let key = random.once(in: 2) ? "id = 'r\(number)'" : "k = \(number)"
            try await update(
                index, random.once(in: 3) ? [key, try assignment(table, &random)] : [key], &random)
        case 3: try await update(index, [try assignment(table, &random)], of: "IS NOT NULL", &random)
        case 4:
            let deleted = try await returning(
                "DELETE FROM \(table.sourceName) WHERE id = \(Self.any(table, &random)) RETURNING id")
            for row in 0..<deleted.rowCount {
                if touch(index) { remove(index, deleted[row, 0] ?? "") }
            }
        default:
            try await run("TRUNCATE \(table.sourceName)")
            tables[index].isMoved = true
            moved.insert(table.name)
            if touch(index) { for id in tables[index].held.keys.sorted() { remove(index, id) } }
        }
    }

    private mutating func insert(_ index: Int, _ random: inout SeededRandom) async throws {
        let table = tables[index]
        let number = try await freeKey(table, &random)
        let values = table.columns.map { column in
            switch column.name {
            case "id": "'r\(number)'"
            case "k": "\(number)"
            default: Self.value(column, &random)
            }
        }
        let made = try await returning(
            "INSERT INTO \(table.sourceName) AS t (\(table.columns.map(\.name).joined(separator: ", "))) "
                + "VALUES (\(values.joined(separator: ", "))) RETURNING row_to_json(t)::text")
        if touch(index) { try put(index, made[0, 0] ?? "") }
    }

    /// A number that no row of a table has in its key; now and then one that a row had before.
    private mutating func freeKey(_ table: ModelTable, _ random: inout SeededRandom) async throws -> Int {
        lastRow += 1
        guard random.once(in: 3) else { return lastRow }
        let former = 1 + random.below(lastRow)
        let taken = try await source.query(
            "SELECT FROM \(table.sourceName) WHERE id = 'r\(former)' OR k = \(former)")
        return taken.rowCount == 0 ? former : lastRow
    }

    /// Gives two rows each other's key.
    private mutating func exchangeKeys(_ index: Int, _ random: inout SeededRandom) async throws {
        let rows = try await source.query(
            "SELECT id, k FROM \(tables[index].sourceName) "
                + "ORDER BY md5(id || '\(random.below(1000))'), id LIMIT 2")
        guard rows.rowCount == 2, let first = rows[0, 0], let second = rows[1, 0], let k = rows[0, 1],
            let otherK = rows[1, 1]
        else { return }
        lastRow += 1
        let steps =
            random.once(in: 2)
            ? [(first, "k = \(lastRow)"), (second, "k = \(k)"), (first, "k = \(otherK)")]
            : [
                (first, "id = 'r\(lastRow)'"), (second, "id = '\(first)'"),
                ("r\(lastRow)", "id = '\(second)'"),
            ]
        for (id, assignment) in steps {
            try await update(index, [assignment], of: "= '\(id)'", &random)
        }
    }

    private mutating func update(
        _ index: Int, _ assignments: [String], of rows: String? = nil, _ random: inout SeededRandom
    ) async throws {
        let table = tables[index]
        let name = table.sourceName
        let changed = try await returning(
            "UPDATE \(name) t SET \(assignments.joined(separator: ", ")) FROM (SELECT * FROM \(name)) o "
                + "WHERE t.id = o.id AND t.id \(rows ?? "= \(Self.any(table, &random))") "
                + "RETURNING o.id, row_to_json(o)::text, row_to_json(t)::text")
        for row in 0..<changed.rowCount {
            guard touch(index) else { continue }
            let (id, old, new) = (changed[row, 0] ?? "", changed[row, 1] ?? "", changed[row, 2] ?? "")
            let now = try JSON.parse(new)
            if new.utf8.count > 1500 {
                updatedLarge.insert(table.name)
                if (tables[index].held[id]?.transaction ?? 0) <= tables[index].noticed {
                    reduced.insert(table.name)
                }
            }
            if table.isOther(try JSON.parse(old), now) {
                if new.utf8.count > 1500 { rekeyedLarge.insert(table.name) }
                remove(index, id)
                try put(index, new)
            } else {
                try put(index, new)
                let isElsewhere = now["owner"]?.stringValue != "u1" || now["id"]?.stringValue != id
                if isElsewhere { remove(index, id) }
            }
        }
    }

    /// A row that is there, by chance; the statement finds none if there is none.
    private static func any(_ table: ModelTable, _ random: inout SeededRandom) -> String {
        "(SELECT id FROM \(table.sourceName) ORDER BY md5(id || '\(random.below(1000))'), id LIMIT 1)"
    }

    private func assignment(_ table: ModelTable, _ random: inout SeededRandom) throws -> String {
        let column = random.pick(table.columns.filter { $0.name != "id" && $0.name != "k" })
        if random.once(in: 6) { return "\(column.name) = t.\(column.name)" }
        return "\(column.name) = \(Self.value(column, &random))"
    }

    private static func value(_ column: ModelTable.Column, _ random: inout SeededRandom) -> String {
        if column.name == "owner" { return random.once(in: 3) ? "'u2'" : "'u1'" }
        if random.once(in: 8) { return "NULL" }
        guard column.type.hasPrefix("text") || column.type.hasPrefix("varchar") else {
            return String(random.below(1 << 30) - (1 << 29))
        }
        let pieces = ["a", "\"", "\\", "\n", "\t", "é", "🐘", "\u{2028}", "'", "$1", " "]
        // What is larger than a quarter of a page is stored elsewhere, and left out of updates.
        let count = random.once(in: 2) ? random.below(6) : 3000 + random.below(2000)
        var text = ""
        for _ in 0..<min(count, 8) { text += random.pick(pieces) }
        if count > 8 { text += String(repeating: "\(random.next())", count: count / 16) }
        return quoteLiteral(text)
    }

    /// Notes that the service sees a change of a table; false if it does not matter to it.
    private mutating func touch(_ index: Int) -> Bool {
        guard tables[index].isPublished else { return false }
        if tables[index].isMoved {
            tables[index].isMoved = false
            tables[index].noticed = number
        }
        guard !tables[index].isAway else {
            if tables[index].recorded?.generation == tables[index].generation {
                for id in tables[index].held.keys.sorted() { remove(index, id) }
                tables[index].recorded = nil
            }
            return false
        }
        if tables[index].recorded != tables[index].signature {
            reduced.insert(tables[index].name)
            renewed.insert(tables[index].name)
        }
        return true
    }

    private mutating func put(_ index: Int, _ data: String) throws {
        let row = try JSON.parse(data)
        guard row["owner"]?.stringValue == "u1", let id = row["id"]?.stringValue else { return }
        tables[index].held[id] = ModelTable.Held(data: data, transaction: number)
        expected.append(ExpectedOperation(table: tables[index].name, id: id, data: data))
    }

    private mutating func remove(_ index: Int, _ id: String) {
        guard let held = tables[index].held.removeValue(forKey: id) else { return }
        expected += Array(
            repeating: ExpectedOperation(table: tables[index].name, id: id, data: nil), count: held.copies)
    }

    // MARK: Tables

    private mutating func alter(_ index: Int, _ random: inout SeededRandom) async throws {
        var table = tables[index]
        let others = table.columns.indices.filter { !["id", "owner", "k"].contains(table.columns[$0].name) }
        let alter = "ALTER TABLE \(table.sourceName)"
        switch random.below(6) {
        case 0:
            let column = ModelTable.Column(
                name: table.newColumn(), type: random.pick(["text", "int4", "int8", "varchar"]))
            let value = column.type.hasPrefix("int") ? "7" : "'seven'"
            try await run(
                "\(alter) ADD \(column.name) \(column.type)\(random.once(in: 2) ? " DEFAULT \(value)" : "")")
            table.columns.append(column)
        case 1 where others.count > 1:
            let place = random.pick(others)
            try await run("\(alter) DROP \(table.columns[place].name)")
            table.columns.remove(at: place)
        case 2 where !others.isEmpty:
            let place = random.pick(others)
            let name = table.newColumn()
            try await run("\(alter) RENAME \(table.columns[place].name) TO \(name)")
            table.columns[place].name = name
        case 3 where !others.isEmpty:
            let place = random.pick(others)
            let column = table.columns[place]
            let type =
                ["int4": "int8", "int8": "text", "text": "varchar", "varchar": "text"][column.type] ?? "text"
            try await run("\(alter) ALTER \(column.name) TYPE \(type) USING \(column.name)::\(type)")
            table.columns[place].type = type
        case 4:
            guard let place = table.columns.firstIndex(where: { $0.name == "k" }) else { return }
            let type = table.columns[place].type == "int4" ? "int8" : "int4"
            try await run("\(alter) ALTER k TYPE \(type)")
            table.columns[place].type = type
        default:
            table.identity = random.pick(ModelTable.Identity.allCases)
            try await run(table.setIdentity)
        }
        table.isMoved = true
        moved.insert(table.name)
        tables[index] = table
    }

    /// Changes which table has the name that the streams know.
    private mutating func moveOrMakeAgain(_ index: Int, _ random: inout SeededRandom) async throws {
        var table = tables[index]
        if random.once(in: 3) {
            try await run("DROP TABLE \(table.sourceName)")
            table.begin()
            if table.isPublished { table.membership += 1 }
            for sql in table.creation { try await run(sql) }
        } else {
            let before = table.sourceName
            table.isAway.toggle()
            try await run("ALTER TABLE \(before) RENAME TO \(table.sourceName)")
        }
        table.isMoved = true
        moved.insert(table.name)
        tables[index] = table
    }
}
