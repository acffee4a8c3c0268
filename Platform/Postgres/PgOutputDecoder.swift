import PowerSyncPostgresValues

extension PgOutputMessage {
    /// Reads one message, which is the payload of one XLogData frame.
    ///
    /// Every length is checked against the bytes that are there, and nothing may be left over. Throws
    /// `malformedMessage`, which says what was read and where, never a value.
    package static func decode(_ payload: [UInt8]) throws(PostgresError) -> PgOutputMessage {
        try decode(payload, in: 0..<payload.count)
    }

    /// Reads one message where it lies in a buffer of many; as `decode(_:)`.
    package static func decode(
        _ bytes: [UInt8], in payload: Range<Int>
    ) throws(PostgresError) -> PgOutputMessage {
        var reader = MessageReader(bytes, in: payload)
        let message = try message(&reader)
        try reader.finish()
        return message
    }

    private static func message(_ reader: inout MessageReader) throws(PostgresError) -> PgOutputMessage {
        let tag = try reader.byte("message type")
        switch tag {
        case UInt8(ascii: "B"):
            return .begin(
                finalLSN: try reader.lsn("final LSN"), commitTime: try reader.integer("commit time"),
                transactionID: try reader.integer("transaction id"))
        case UInt8(ascii: "C"):
            _ = try reader.byte("flags")
            return .commit(
                commitLSN: try reader.lsn("commit LSN"), endLSN: try reader.lsn("end LSN"),
                commitTime: try reader.integer("commit time"))
        case UInt8(ascii: "O"):
            return .origin(lsn: try reader.lsn("origin LSN"), name: try reader.string("origin name"))
        case UInt8(ascii: "R"):
            return .relation(try relation(&reader))
        case UInt8(ascii: "Y"):
            return .type(
                oid: try reader.integer("type oid"), namespace: try reader.string("namespace"),
                name: try reader.string("type name"))
        case UInt8(ascii: "I"):
            let relation: UInt32 = try reader.integer("relation oid")
            try reader.expect(UInt8(ascii: "N"), "new tuple")
            return .insert(relation: relation, new: try tuple(&reader))
        case UInt8(ascii: "U"):
            return try update(&reader)
        case UInt8(ascii: "D"):
            let relation: UInt32 = try reader.integer("relation oid")
            guard let old = try oldTuple(&reader, mark: try reader.byte("old tuple")) else {
                throw reader.malformed("old tuple")
            }
            return .delete(relation: relation, old: old)
        case UInt8(ascii: "T"):
            let count = try reader.count("relation count", UInt32.self, itemSize: 4)
            let options = try reader.byte("truncate options")
            var relations: [UInt32] = []
            for _ in 0..<count { relations.append(try reader.integer("relation oid")) }
            return .truncate(relations: relations, options: options)
        case UInt8(ascii: "M"):
            let flags = try reader.byte("message flags")
            let lsn = try reader.lsn("message LSN")
            let prefix = try reader.string("message prefix")
            let count = try reader.count("message length", UInt32.self, itemSize: 1)
            return .message(
                isTransactional: flags & 1 == 1, lsn: lsn, prefix: prefix,
                content: Array(try reader.bytes("message content", count)))
        default:
            throw reader.malformed("message type \(tag)")
        }
    }

    private static func relation(_ reader: inout MessageReader) throws(PostgresError) -> PgOutputRelation {
        let oid: UInt32 = try reader.integer("relation oid")
        let namespace = try reader.string("namespace")
        let name = try reader.string("relation name")
        guard let identity = PgOutputRelation.Identity(rawValue: try reader.byte("replica identity")) else {
            throw reader.malformed("replica identity")
        }
        let count = try reader.count("column count", UInt16.self, itemSize: 10)
        var columns: [PgOutputRelation.Column] = []
        columns.reserveCapacity(count)
        for _ in 0..<count {
            let flags = try reader.byte("column flags")
            columns.append(
                PgOutputRelation.Column(
                    isKey: flags & 1 == 1, name: try reader.string("column name"),
                    typeOID: try reader.integer("type oid"), typeModifier: try reader.integer("type modifier")
                ))
        }
        // An empty namespace stands for pg_catalog.
        return PgOutputRelation(
            oid: oid, namespace: namespace.isEmpty ? "pg_catalog" : namespace, name: name, identity: identity,
            columns: columns)
    }

    private static func update(_ reader: inout MessageReader) throws(PostgresError) -> PgOutputMessage {
        let relation: UInt32 = try reader.integer("relation oid")
        var mark = try reader.byte("tuple kind")
        let old = try oldTuple(&reader, mark: mark)
        if old != nil { mark = try reader.byte("tuple kind") }
        guard mark == UInt8(ascii: "N") else { throw reader.malformed("new tuple") }
        return .update(relation: relation, old: old, new: try tuple(&reader))
    }

    private static func oldTuple(
        _ reader: inout MessageReader, mark: UInt8
    ) throws(PostgresError) -> PgOutputOldTuple? {
        switch mark {
        case UInt8(ascii: "K"): .key(try tuple(&reader))
        case UInt8(ascii: "O"): .full(try tuple(&reader))
        default: nil
        }
    }

    private static func tuple(_ reader: inout MessageReader) throws(PostgresError) -> PgOutputTuple {
        let count = try reader.count("column count", UInt16.self, itemSize: 1)
        var tuple: PgOutputTuple = []
        tuple.reserveCapacity(count)
        for _ in 0..<count {
            switch try reader.byte("value kind") {
            case UInt8(ascii: "n"): tuple.append(.null)
            case UInt8(ascii: "u"): tuple.append(.unchangedToast)
            case UInt8(ascii: "t"):
                let length = try reader.count("value length", UInt32.self, itemSize: 1)
                tuple.append(.text(String(decoding: try reader.bytes("value", length), as: UTF8.self)))
            default: throw reader.malformed("value kind")
            }
        }
        return tuple
    }
}
