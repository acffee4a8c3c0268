import PowerSyncBackend
import PowerSyncWire
import Testing

/// What counts as the same operation in the ledger.
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
}
