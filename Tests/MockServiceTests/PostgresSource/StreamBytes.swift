import PowerSyncPostgres
import PowerSyncPostgresValues

/// Messages of a replication stream as Postgres sends them (service 7.11).
struct StreamBytes {
    private(set) var frames = PostgresFrames()

    /// Adds a message of `pgoutput`.
    mutating func add(_ message: PgOutputMessage, at position: LSN) {
        var bytes = MessageBytes("w")
        bytes.add(position.rawValue)
        bytes.add(position.rawValue)
        bytes.add(Int64(0))
        message.encode(to: &bytes)
        append(bytes.bytes)
    }

    /// Adds a sign of life.
    mutating func addKeepalive(_ end: LSN, replyRequested: Bool) {
        var bytes = MessageBytes("k")
        bytes.add(end.rawValue)
        bytes.add(Int64(0))
        bytes.add(UInt8(replyRequested ? 1 : 0))
        append(bytes.bytes)
    }

    private mutating func append(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { frames.append($0) }
    }
}

/// The fields of a message behind each other: numbers big-endian, names with a NUL behind them.
private struct MessageBytes {
    private(set) var bytes: [UInt8] = []

    init(_ tag: Character) { mark(tag) }

    mutating func mark(_ letter: Character) { bytes += Array(String(letter).utf8) }

    mutating func add(_ number: some FixedWidthInteger) {
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func add(name: String) {
        bytes += Array(name.utf8)
        bytes.append(0)
    }

    mutating func add(content: [UInt8]) {
        add(UInt32(content.count))
        bytes += content
    }

    mutating func add(_ tuple: PgOutputTuple) {
        add(UInt16(tuple.count))
        for value in tuple {
            switch value {
            case .null: mark("n")
            case .unchangedToast: mark("u")
            case .text(let text):
                mark("t")
                add(content: Array(text.utf8))
            }
        }
    }

    mutating func add(_ old: PgOutputOldTuple) {
        switch old {
        case .key(let tuple):
            mark("K")
            add(tuple)
        case .full(let tuple):
            mark("O")
            add(tuple)
        }
    }
}

extension PgOutputMessage {
    /// Adds the bytes that `decode` reads.
    fileprivate func encode(to bytes: inout MessageBytes) {
        switch self {
        case .begin(let finalLSN, let commitTime, let transactionID):
            bytes.mark("B")
            bytes.add(finalLSN.rawValue)
            bytes.add(commitTime)
            bytes.add(transactionID)
        case .commit(let commitLSN, let endLSN, let commitTime):
            bytes.mark("C")
            bytes.add(UInt8(0))
            bytes.add(commitLSN.rawValue)
            bytes.add(endLSN.rawValue)
            bytes.add(commitTime)
        case .origin(let lsn, let name):
            bytes.mark("O")
            bytes.add(lsn.rawValue)
            bytes.add(name: name)
        case .relation(let relation): bytes.add(relation)
        case .type(let oid, let namespace, let name):
            bytes.mark("Y")
            bytes.add(oid)
            bytes.add(name: namespace)
            bytes.add(name: name)
        case .insert(let relation, let new):
            bytes.mark("I")
            bytes.add(relation)
            bytes.mark("N")
            bytes.add(new)
        case .update(let relation, let old, let new):
            bytes.mark("U")
            bytes.add(relation)
            if let old { bytes.add(old) }
            bytes.mark("N")
            bytes.add(new)
        case .delete(let relation, let old):
            bytes.mark("D")
            bytes.add(relation)
            bytes.add(old)
        case .truncate(let relations, let options):
            bytes.mark("T")
            bytes.add(UInt32(relations.count))
            bytes.add(options)
            for relation in relations { bytes.add(relation) }
        case .message(let isTransactional, let lsn, let prefix, let content):
            bytes.mark("M")
            bytes.add(UInt8(isTransactional ? 1 : 0))
            bytes.add(lsn.rawValue)
            bytes.add(name: prefix)
            bytes.add(content: content)
        }
    }
}

extension MessageBytes {
    fileprivate mutating func add(_ relation: PgOutputRelation) {
        mark("R")
        add(relation.oid)
        add(name: relation.namespace)
        add(name: relation.name)
        add(relation.identity.rawValue)
        add(UInt16(relation.columns.count))
        for column in relation.columns {
            add(UInt8(column.isKey ? 1 : 0))
            add(name: column.name)
            add(column.typeOID)
            add(column.typeModifier)
        }
    }
}
