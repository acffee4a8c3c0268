import PowerSyncPostgres
import PowerSyncPostgresValues
import PowerSyncTestSupport
import Testing

struct PgOutputDecoderTests {
    static var messages: [(bytes: [UInt8], message: PgOutputMessage)] {
        [
            (
                MessageBytes("B").int64(0x16_B374_D848).int64(700_000_000_000_001).int32(-2).bytes,
                .begin(
                    finalLSN: LSN(rawValue: 0x16_B374_D848), commitTime: 700_000_000_000_001,
                    transactionID: 0xFFFF_FFFE)
            ),
            (
                MessageBytes("C").byte(0).int64(1).int64(2).int64(3).bytes,
                .commit(commitLSN: LSN(rawValue: 1), endLSN: LSN(rawValue: 2), commitTime: 3)
            ),
            (MessageBytes("O").int64(9).string("node").bytes, .origin(lsn: LSN(rawValue: 9), name: "node")),
            (
                MessageBytes("R").int32(16384).string("public").string("lists").mark("d").int16(2)
                    .byte(1).string("id").int32(2950).int32(-1).byte(0).string("name").int32(1043).int32(54)
                    .bytes,
                .relation(
                    PgOutputRelation(
                        oid: 16384, namespace: "public", name: "lists", identity: .primaryKey,
                        columns: [
                            .init(isKey: true, name: "id", typeOID: 2950, typeModifier: -1),
                            .init(isKey: false, name: "name", typeOID: 1043, typeModifier: 54),
                        ]))
            ),
            (
                MessageBytes("Y").int32(16400).string("public").string("mood").bytes,
                .type(oid: 16400, namespace: "public", name: "mood")
            ),
            (
                MessageBytes("I").int32(7).mark("N").int16(3).text("é").mark("n").text("").bytes,
                .insert(relation: 7, new: [.text("é"), .null, .text("")])
            ),
            (
                MessageBytes("U").int32(7).mark("N").int16(2).text("1").mark("u").bytes,
                .update(relation: 7, old: nil, new: [.text("1"), .unchangedToast])
            ),
            (
                MessageBytes("U").int32(7).mark("K").int16(2).text("1").mark("n").mark("N").int16(2).text("2")
                    .text("b")
                    .bytes,
                .update(relation: 7, old: .key([.text("1"), .null]), new: [.text("2"), .text("b")])
            ),
            (
                MessageBytes("D").int32(7).mark("O").int16(2).text("1").text("a").bytes,
                .delete(relation: 7, old: .full([.text("1"), .text("a")]))
            ),
            (
                MessageBytes("D").int32(7).mark("K").int16(1).text("1").bytes,
                .delete(relation: 7, old: .key([.text("1")]))
            ),
            (
                MessageBytes("T").int32(2).byte(3).int32(7).int32(8).bytes,
                .truncate(relations: [7, 8], options: 3)
            ),
            (
                MessageBytes("M").byte(1).int64(5).string("powersync").int32(4).raw("ping").bytes,
                .message(
                    isTransactional: true, lsn: LSN(rawValue: 5), prefix: "powersync",
                    content: Array("ping".utf8)
                )
            ),
        ]
    }

    @Test(arguments: messages.indices)
    func readsEachMessage(index: Int) throws {
        let (bytes, message) = Self.messages[index]
        #expect(try PgOutputMessage.decode(bytes) == message)
    }

    @Test(arguments: messages.indices)
    func refusesAMessageThatIsCutAnywhere(index: Int) {
        let bytes = Self.messages[index].bytes
        for length in bytes.indices {
            let error = #expect(throws: PostgresError.self) {
                try PgOutputMessage.decode(Array(bytes[..<length]))
            }
            #expect(error?.code == .malformedMessage)
        }
    }

    @Test(arguments: messages.indices)
    func refusesBytesAfterTheEnd(index: Int) {
        let error = #expect(throws: PostgresError.self) {
            try PgOutputMessage.decode(Self.messages[index].bytes + [0])
        }
        #expect(error?.code == .malformedMessage)
    }

    @Test(arguments: [
        MessageBytes("X").bytes,
        MessageBytes("I").int32(7).mark("K").int16(0).bytes,
        MessageBytes("U").int32(7).mark("X").int16(0).bytes,
        MessageBytes("D").int32(7).mark("N").int16(0).bytes,
        MessageBytes("I").int32(7).mark("N").int16(1).mark("b").int32(1).byte(1).bytes,
        MessageBytes("I").int32(7).mark("N").int16(-1).bytes,
        MessageBytes("I").int32(7).mark("N").int16(1).mark("t").int32(-1).raw("abc").bytes,
        MessageBytes("T").int32(.max).byte(0).int32(1).bytes,
        MessageBytes("R").int32(1).string("s").string("t").mark("x").int16(0).bytes,
        MessageBytes("R").int32(1).string("s").string("t").mark("d").int16(.max).bytes,
    ])
    func refusesWrongMarksAndLengths(bytes: [UInt8]) {
        let error = #expect(throws: PostgresError.self) { try PgOutputMessage.decode(bytes) }
        #expect(error?.code == .malformedMessage)
    }

    @Test(.namesSeed) func survivesAnyBytes() async throws {
        let messages = Self.messages.map(\.bytes)
        try await forEachSeed(200) { random in
            for _ in 0..<100 {
                var bytes = random.pick(messages)
                for _ in 0...random.below(4) {
                    bytes[random.below(bytes.count)] = UInt8(random.below(256))
                }
                do throws(PostgresError) {
                    _ = try PgOutputMessage.decode(bytes)
                } catch {
                    try #require(error.code == .malformedMessage)
                }
            }
        }
    }

    @Test func anEmptyNamespaceIsPgCatalog() throws {
        let bytes = MessageBytes("R").int32(1).string("").string("t").mark("f").int16(0).bytes
        guard case .relation(let relation) = try PgOutputMessage.decode(bytes) else {
            Issue.record("no relation")
            return
        }
        #expect(relation.namespace == "pg_catalog")
        #expect(relation.identity == .full)
    }
}
