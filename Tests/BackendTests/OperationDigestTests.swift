import PowerSyncBackend
import PowerSyncCrypto
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// What counts as the same operation in the ledger.
@Suite(.namesSeed)
struct OperationDigestTests {
    private func digest(
        _ data: String?, kind: UploadOperationKind = .put, table: String = "lists", id: String = "a"
    ) throws -> Int64 {
        OperationDigest.meaning(try Build.operation(kind, table, id, data, opID: 1))
    }

    @Test(arguments: [
        (#"{"a":1,"b":2}"#, #"{"b":2,"a":1}"#), (#"{"n":1}"#, #"{"n":1.0}"#), (#"{"n":1}"#, #"{"n":10e-1}"#),
        (#"{"n":0}"#, #"{"n":-0.0}"#), (#"{"n":1,"n":2}"#, #"{"n":2}"#), (#"{"x":1}"#, #"{"x":1,"id":"a"}"#),
        (#"{"o":{"b":[1,{"d":1,"c":2}],"a":null}}"#, #"{"o":{"a":null,"b":[1.0,{"c":2,"d":1}]}}"#),
        (#"{"t":"\u00e9"}"#, #"{"t":"é"}"#),
    ])
    func theSameMeaningHasOneDigest(one: String, other: String) throws {
        #expect(try digest(one) == digest(other))
    }

    @Test(arguments: [
        (#"{"a":1}"#, #"{"a":"1"}"#), (#"{"a":1}"#, #"{"a":true}"#), (#"{"a":null}"#, "{}"),
        (#"{"a":[1,2]}"#, #"{"a":[2,1]}"#), (#"{"a":1}"#, #"{"b":1}"#), (#"{"x":1}"#, #"{"x":1,"id":"b"}"#),
        (#"{"a":1}"#, #"{"a":10}"#), (#"{"a":"\u0065\u0301"}"#, #"{"a":"\u00e9"}"#),
        (#"{"a":1}"#, #"{"a":-1}"#),
        (#"{"a":1e2}"#, #"{"a":1e3}"#), (#"{"a":"b","c":"d"}"#, #"{"a":"b\",\"c\":\"d"}"#),
    ])
    func anotherMeaningHasAnother(one: String, other: String) throws {
        #expect(try digest(one) != digest(other))
    }

    @Test func kindTableAndRowCount() throws {
        let digests = [
            try digest(nil), try digest(nil, kind: .delete), try digest(nil, table: "list"),
            try digest(nil, id: "sa"), try digest(nil, table: "lis", id: "tsa"),
        ]
        #expect(Set(digests).count == digests.count)
        #expect(try digest(nil) == digest("{}"), "no data and empty data do the same")
    }

    @Test func whatIsNotExecutedDoesNotCount() throws {
        var operation = try Build.operation(.put, "lists", "a", #"{"a":1}"#, opID: 1)
        let plain = OperationDigest.meaning(operation)
        operation.metadata = "note"
        operation.old = [JSONMember("a", .integer(0))]
        #expect(OperationDigest.meaning(operation) == plain)
        #expect(OperationDigest.spelling(operation) != plain)
        #expect(try digest(#"{"a":1}"#, kind: .delete) == digest(nil, kind: .delete))
    }

    /// What nobody knows is refused, and is no repetition of anything else.
    @Test func anUnknownKindIsItself() throws {
        let plain = try Build.operation(.delete, "lists", "a", nil, opID: 1)
        let digests = [nil, "MERGE", "UPSERT", "delete"].map { kind in
            var operation = plain
            operation.unknownKind = kind
            return OperationDigest.meaning(operation)
        }
        #expect(Set(digests).count == digests.count)
    }

    // MARK: One after the other

    /// The ledger has digests of years: that of an operation must never be another one.
    @Test func digestsAreThoseThatWereWritten() async throws {
        try await forEachSeed(300) { random in
            var reader = OperationDigest()
            var operations = (0..<4).map { _ in Self.operation(&random) }
            // More than is kept in front of the digest.
            if random.once(in: 20) {
                operations[0].data = (0..<3).map {
                    JSONMember("m\($0)", .string(String(repeating: "x", count: 12_000)))
                }
            }
            for operation in operations {
                let (meaning, spelling) = (reader.meaning(operation), reader.spelling(operation))
                #expect(meaning == Self.former(operation), "\(operation.json.text.prefix(300))")
                #expect(meaning == OperationDigest.meaning(operation))
                #expect(spelling == Self.number(operation.json.utf8))
                #expect(spelling == OperationDigest.spelling(operation))
            }
        }
    }

    private static func operation(_ random: inout SeededRandom) -> UploadOperation {
        let kinds: [UploadOperationKind] = [.put, .patch, .delete]
        let id = random.pick(["a", "7", "é", "e\u{301}", "x\"y"])
        var members: [JSONMember] = []
        for _ in 0..<random.below(7) {
            let name = random.pick(["id", "a", "b", "ab", "é", "e\u{301}", "Z", "", "n"])
            switch random.below(6) {
            case 0: members.append(JSONMember(name, .string(id)))
            case 1: members.append(JSONMember(name, .number("7")))
            default: members.append(JSONMember(name, value(&random, 2)))
            }
        }
        var operation = UploadOperation(
            kind: random.pick(kinds), table: random.pick(["lists", "", "tödos"]), id: id, opID: 1,
            data: random.once(in: 9) ? nil : members)
        if random.once(in: 9) { operation.unknownKind = "MERGE" }
        if random.once(in: 9) { operation.metadata = "note" }
        return operation
    }

    private static func value(_ random: inout SeededRandom, _ depth: Int) -> JSON {
        switch random.below(depth > 0 ? 6 : 4) {
        case 0: return random.pick([.null, .bool(true), .bool(false)])
        case 1:
            let numbers = [
                "0", "-0", "1", "10", "100", "-120", "1.0", "10e-1", "0.10", "1e3", "-1.50E+2", "00", "007",
                "9223372036854775808", String(repeating: "9", count: 400), String(repeating: "9", count: 401),
                "1e999", "-", "1.5", "-0.05", "100.001", "5.", ".5", "-.", "1000000000000", "0.0000000000012",
                "1.2.3", "-12300",
            ]
            return .number(random.pick(numbers))
        case 2, 3: return .string(random.pick(["", "a", "\"\\", "é", "e\u{301}", "\n", "7"]))
        case 4:
            var elements: [JSON] = []
            for _ in 0..<random.below(3) { elements.append(value(&random, depth - 1)) }
            return .array(elements)
        default:
            var members: [JSONMember] = []
            for _ in 0..<random.below(4) {
                members.append(JSONMember(random.pick(["b", "a", "aa", "id"]), value(&random, depth - 1)))
            }
            return .object(members)
        }
    }

    /// The digest as it was computed when the ledger was begun: all bytes first, then all of their digest.
    private static func former(_ operation: UploadOperation) -> Int64 {
        var bytes: [UInt8] = []
        for text in [operation.unknownKind ?? operation.kind.rawValue, operation.table, operation.id] {
            JSON.appendQuoted(text, to: &bytes)
        }
        let isExecuted = operation.kind != .delete || operation.unknownKind != nil
        let data = (isExecuted ? operation.data ?? [] : []).filter { member in
            switch member.value {
            case .string(let text), .number(let text):
                member.name != "id" || !text.utf8.elementsEqual(operation.id.utf8)
            default: true
            }
        }
        append(.object(data), to: &bytes)
        return number(bytes)
    }

    private static func append(_ value: JSON, to bytes: inout [UInt8]) {
        switch value {
        case .number(let lexeme): bytes += (DecimalText(lexeme)?.canonical ?? lexeme).utf8
        case .array(let elements):
            bytes += "[".utf8
            for element in elements {
                append(element, to: &bytes)
                bytes += ",".utf8
            }
            bytes += "]".utf8
        case .object(let members):
            var last: [[UInt8]: JSON] = [:]
            for member in members { last[Array(member.name.utf8)] = member.value }
            bytes += "{".utf8
            for (name, value) in last.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
                JSON.appendQuoted(String(decoding: name, as: UTF8.self), to: &bytes)
                bytes += ":".utf8
                append(value, to: &bytes)
                bytes += ",".utf8
            }
            bytes += "}".utf8
        default: value.append(to: &bytes)
        }
    }

    private static func number(_ bytes: [UInt8]) -> Int64 {
        Int64(bitPattern: Digest.sha256(bytes).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }
}
