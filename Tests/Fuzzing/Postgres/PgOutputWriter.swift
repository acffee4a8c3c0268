import PowerSyncPostgres
import PowerSyncPostgresValues

/// Writes messages of `pgoutput` as the server does.
struct PgOutputWriter {
    private(set) var bytes: [UInt8] = []

    static func bytes(of message: PgOutputMessage) -> [UInt8] {
        var writer = PgOutputWriter()
        writer.write(message)
        return writer.bytes
    }

    private mutating func write(_ message: PgOutputMessage) {
        switch message {
        case .begin(let finalLSN, let commitTime, let transactionID):
            letter("B")
            integer(finalLSN.rawValue)
            integer(commitTime)
            integer(transactionID)
        case .commit(let commitLSN, let endLSN, let commitTime):
            letter("C")
            bytes.append(0)
            integer(commitLSN.rawValue)
            integer(endLSN.rawValue)
            integer(commitTime)
        case .origin(let lsn, let name):
            letter("O")
            integer(lsn.rawValue)
            string(name)
        case .relation(let relation): write(relation)
        case .type(let oid, let namespace, let name):
            letter("Y")
            integer(oid)
            string(namespace)
            string(name)
        case .insert(let relation, let new):
            letter("I")
            integer(relation)
            tuple("N", new)
        case .update(let relation, let old, let new):
            letter("U")
            integer(relation)
            if let old { tuple(old) }
            tuple("N", new)
        case .delete(let relation, let old):
            letter("D")
            integer(relation)
            tuple(old)
        case .truncate(let relations, let options):
            letter("T")
            integer(UInt32(relations.count))
            bytes.append(options)
            for relation in relations { integer(relation) }
        case .message(let isTransactional, let lsn, let prefix, let content):
            letter("M")
            bytes.append(isTransactional ? 1 : 0)
            integer(lsn.rawValue)
            string(prefix)
            integer(UInt32(content.count))
            bytes += content
        }
    }

    private mutating func write(_ relation: PgOutputRelation) {
        letter("R")
        integer(relation.oid)
        string(relation.namespace)
        string(relation.name)
        bytes.append(relation.identity.rawValue)
        integer(UInt16(relation.columns.count))
        for column in relation.columns {
            bytes.append(column.isKey ? 1 : 0)
            string(column.name)
            integer(column.typeOID)
            integer(column.typeModifier)
        }
    }

    private mutating func tuple(_ old: PgOutputOldTuple) {
        switch old {
        case .key(let values): tuple("K", values)
        case .full(let values): tuple("O", values)
        }
    }

    private mutating func tuple(_ mark: Unicode.Scalar, _ values: PgOutputTuple) {
        letter(mark)
        integer(UInt16(values.count))
        for value in values {
            switch value {
            case .null: letter("n")
            case .unchangedToast: letter("u")
            case .text(let text):
                letter("t")
                integer(UInt32(text.utf8.count))
                bytes += text.utf8
            }
        }
    }

    private mutating func letter(_ letter: Unicode.Scalar) { bytes.append(UInt8(ascii: letter)) }

    private mutating func string(_ text: String) { bytes += Array(text.utf8) + [0] }

    private mutating func integer(_ value: some FixedWidthInteger) {
        withUnsafeBytes(of: value.bigEndian) { bytes += $0 }
    }
}
