import Foundation
import PowerSyncPostgres
import PowerSyncPostgresValues

/// The readers of what a source sends.
///
/// | first byte modulo 3 | the rest |
/// |---|---|
/// | 0 | a message of `pgoutput` |
/// | 1 | a frame of the replication stream |
/// | 2 | a row of COPY |
struct PgOutputTarget: FuzzTarget {
    static let words = [
        "\\N", "\\\\", "\t", "\0\0\0\u{1}", "\0\u{1}", "t\0\0\0", "d\0\u{1}", "N\0\u{1}", "K\0\u{1}",
        "O\0\u{1}",
    ]

    private(set) var tally = Tally()

    static func firstInputs(fixtures: URL) throws -> [[UInt8]] {
        let row: PgOutputTuple = [.text("1"), .null, .unchangedToast, .text("é")]
        let relation = PgOutputRelation(
            oid: 16_384, namespace: "public", name: "lists", identity: .primaryKey,
            columns: [
                .init(isKey: true, name: "id", typeOID: 2950, typeModifier: -1),
                .init(isKey: false, name: "name", typeOID: 1043, typeModifier: 54),
            ])
        let messages: [PgOutputMessage] = [
            .begin(finalLSN: LSN(rawValue: 0x16_B374_D848), commitTime: 7, transactionID: 9),
            .commit(commitLSN: LSN(rawValue: 1), endLSN: LSN(rawValue: 2), commitTime: 3),
            .origin(lsn: LSN(rawValue: 9), name: "node"), .relation(relation),
            .type(oid: 16_400, namespace: "public", name: "mood"), .insert(relation: 7, new: row),
            .update(relation: 7, old: nil, new: row), .update(relation: 7, old: .key(row), new: row),
            .update(relation: 7, old: .full(row), new: row), .delete(relation: 7, old: .key(row)),
            .delete(relation: 7, old: .full(row)), .truncate(relations: [7, 8], options: 3),
            .message(isTransactional: true, lsn: LSN(rawValue: 5), prefix: "p", content: [1, 2]),
        ]
        var inputs: [[UInt8]] = [[1, UInt8(ascii: "k")] + [UInt8](repeating: 0, count: 17)]
        for payload in messages.map(PgOutputWriter.bytes) {
            inputs.append([0] + payload)
            inputs.append([1, UInt8(ascii: "w")] + [UInt8](repeating: 0, count: 24) + payload)
        }
        for row in ["1\t\\N\ta\\tb\\\\\n", "\\N", "\t\t", "x\\b\\f\\n\\r\\t\\v"] {
            inputs.append([2] + Array(row.utf8))
        }
        return inputs
    }

    mutating func check(_ input: [UInt8]) {
        let bytes = Array(input.dropFirst())
        switch (input.first ?? 0) % 3 {
        case 0: checkMessage(bytes)
        case 1: checkFrame(bytes)
        default: checkRow(bytes)
        }
    }

    private mutating func checkMessage(_ bytes: [UInt8]) {
        guard let message = Self.message(bytes) else { return tally.count("messages refused") }
        tally.count("messages")
        guard Self.message(PgOutputWriter.bytes(of: message)) == message else {
            fatalError("a message that was written says something else")
        }
        // Its length follows from what it says, so neither a part of it nor more is a message.
        guard Self.message(bytes + [0]) == nil else { fatalError("a message with a byte behind its end") }
        for length in [bytes.count - 1, bytes.count / 2, bytes.count * 7 / 8] {
            guard Self.message(Array(bytes[..<length])) == nil else { fatalError("a part is a message") }
        }
    }

    private static func message(_ bytes: [UInt8]) -> PgOutputMessage? {
        do throws(PostgresError) { return try PgOutputMessage.decode(bytes) } catch {
            guard error.code == .malformedMessage, let place = error.message.split(separator: " ").last,
                let byte = Int(place), (0...bytes.count).contains(byte)
            else { fatalError("an error without a place in the message: \(error)") }
            return nil
        }
    }

    private mutating func checkFrame(_ bytes: [UInt8]) {
        guard let frame = try? ReplicationMessage.decode(bytes) else { return tally.count("frames refused") }
        switch frame {
        case .keepalive:
            tally.count("keepalives")
            guard bytes.count == 18 else { fatalError("a keepalive of another length") }
        case .xlog(_, _, let payload):
            tally.count("frames")
            guard payload == Array(bytes[25...]) else { fatalError("a payload that is not the rest") }
            checkMessage(payload)
        }
    }

    private mutating func checkRow(_ bytes: [UInt8]) {
        let fields = PostgresCopyRow.fields(of: bytes)
        tally.count("fields of rows", fields.count)
        guard fields.count == bytes.count(where: { $0 == 9 }) + 1 || bytes.contains(UInt8(ascii: "\\")) else {
            fatalError("a row with other fields than tabs say")
        }
        let written = fields.map { $0.map(Self.escaped) ?? "\\N" }.joined(separator: "\t") + "\n"
        guard PostgresCopyRow.fields(of: Array(written.utf8)) == fields else {
            fatalError("a row that was written says something else")
        }
    }

    private static func escaped(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.flatMap { scalar -> [Unicode.Scalar] in
                    switch scalar {
                    case "\\": ["\\", "\\"]
                    case "\t": ["\\", "t"]
                    case "\n": ["\\", "n"]
                    default: [scalar]
                    }
                }))
    }
}
