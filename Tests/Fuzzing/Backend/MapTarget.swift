import Foundation
import PowerSyncBackend
import PowerSyncWire

/// The reader of table maps; the first byte chooses what is repeated.
struct MapTarget: FuzzTarget {
    static let words = [
        "tables:", "\n  t:", "\n    ", "table: public.t", "id: id", "owner: owner",
        "ops: [PUT, PATCH, DELETE]", "columns:",
        "{ write: server }", "set: now", "set: subject", "write: never", "write: client",
        "json_strings: keep", "json_strings: parse",
        "encoding: hex",
        "encoding: base64", "infinity: accept", "infinity: refuse", "epoch: ms", "epoch: s", "empty: null",
        "empty: keep",
        "attachments: [a, i]", "read: ", "owner = :sub", "'':sub''", "$q$", ":sub::text", "/*", "--",
        ": ", "- ", "{", "}", "[", "]", ", ", "&a ", "*a", "|\n", ">-\n", "'", "\"", "\\x41", "# ", "---\n",
        "\u{85}", "\u{2028}",
        "\u{FEFF}", "\r", ".",
    ]

    private(set) var tally = Tally()
    private let catalog = FuzzedTables.catalog

    init() throws {}

    static func firstInputs(fixtures: URL) throws -> [[UInt8]] {
        written.map { [0] + Array($0.utf8) } + repeated.map { [255] + Array($0.utf8) }
    }

    private static var written: [String] {
        [
            "tables: { t: }", "tables:\n  mine: { table: public.t, id: id, ops: [PUT] }\n",
            "tables:\n  t:\n    owner: owner\n    columns: { a: { write: server }, i: { write: never, empty: null } }\n",
            "tables: { t: { columns: { l: { json_strings: keep }, m: { encoding: hex }, n: { infinity: accept, epoch: s } } } }",
            "tables:\n  t:\n    attachments: [i, s]\n    read: >-\n      owner = :sub OR i IN (SELECT 'x:sub' /* :sub */)\n",
            "tables:\n  t: { attachments: [id], read: \"(':sub' || $a$:sub$a$ || :sub::text) = E'\\\\''\" }\n",
            "tables: { nothing: }", "",
        ]
    }

    private static let repeated = [
        "tables:\n\0  t: { table: t }\n\0", "\0{\0",
        "tables: { t: { columns: {\0 a: { write: client },\0 b: } } }",
        "a: &a [b]\nb: [\0*a,\0]",
    ]

    mutating func check(_ input: [UInt8]) {
        let text = String(decoding: Repetition.unfold(input, limit: 1 << 13), as: UTF8.self)
        let results = (0..<2).map { _ in
            Result { () throws(BackendError) in try TableMap(yaml: text, source: "map") }
        }
        switch (results[0], results[1]) {
        case (.success(let map), .success(let again)):
            guard map == again else { fatalError("a text means two maps") }
            tally.count("maps")
            resolve(map, TextPlaces(text))
        case (.failure(let error), .failure(let again)):
            guard error.message == again.message else { fatalError("two answers for one text") }
            tally.count("maps refused")
            check(error, TextPlaces(text))
        default: fatalError("a text is accepted and refused")
        }
    }

    private mutating func resolve(_ map: TableMap, _ places: TextPlaces) {
        do throws(BackendError) {
            let tables = try UploadTables(map: map, source: "map", catalog: catalog)
            tally.count("maps of the database")
            for (name, table) in tables.tables {
                guard ExactText(table.name) == name, table.columns[ExactText(table.id.name)] == table.id,
                    table.operations.count <= 3, table.read == nil || !table.attachments.isEmpty,
                    table.attachments.allSatisfy({
                        table.columns[ExactText($0.name)] == $0 && $0.kind.holdsNames
                    })
                else {
                    fatalError("a table that is not what its entry says")
                }
            }
            for entry in map.tables {
                check(entry.read, tables.tables[ExactText(entry.name.text)]?.read)
            }
        } catch {
            check(error, places)
        }
    }

    /// A condition is cut where its subject stands, and otherwise left as it is.
    private func check(_ place: Located?, _ read: ReadCondition?) {
        let whole = place.map { "(" + $0.text + "\n)" }
        guard whole.map(ExactText.init) == read.map({ ExactText($0.sql(subject: ":sub")) }) else {
            fatalError("a condition that is more than cut")
        }
    }

    private func check(_ error: BackendError, _ places: TextPlaces) {
        guard error.code == .tableMap else { fatalError("an error of another kind") }
        if error.message == "map is empty: it needs a member \"tables\"" { return }
        // Bytes: an expression would take longer than the map, and names may begin with marks that join what is before.
        var rest = error.message.utf8[...]
        guard let line = Self.number(behind: "map line ", in: &rest),
            let column = Self.number(behind: ", column ", in: &rest), rest.starts(with: ": ".utf8),
            places.have(line: line, column: column)
        else { fatalError("an error that is nowhere in the text: \(error.message)") }
    }

    private static func number(behind word: String, in rest: inout Substring.UTF8View) -> Int? {
        guard rest.starts(with: word.utf8) else { return nil }
        rest.removeFirst(word.utf8.count)
        let digits = rest.prefix { (0x30...0x39).contains($0) }
        rest.removeFirst(digits.count)
        return Int(Substring(digits))
    }
}
