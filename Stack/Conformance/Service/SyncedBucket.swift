import PowerSyncServiceEngine
import PowerSyncWire

/// What a client holds of one bucket: the operations, applied (service 4).
package struct SyncedBucket: Sendable {
    /// Whose row it is; several subkeys may hold one row.
    package struct Key: Hashable, Sendable {
        /// The type and the id of the row.
        package let row: RowName
        /// Which source row it was made of.
        package let subkey: ExactText
    }

    /// The name of a row on the client.
    package struct RowName: Hashable, Sendable, CustomStringConvertible {
        /// The object type.
        package let type: ExactText
        /// The object id.
        package let id: ExactText

        /// Type and id with a slash between.
        package var description: String { "\(type)/\(id)" }
    }

    /// The id of the last operation.
    package var position: Int64 = 0
    /// The sum of all operations' checksums.
    package var sum = Checksum.zero
    /// The data of each row, in one spelling for all that is equal.
    package private(set) var rows: [Key: ExactText] = [:]
    /// The checksum of the PUT that each row is of.
    private var checksums: [Key: Checksum] = [:]
    /// Whether all operations from the first are known.
    package private(set) var isWhole = true
    /// Whether there were no operations but PUTs.
    package private(set) var hasOnlyPuts = true

    /// Makes an empty bucket.
    package init() {}

    /// Makes a bucket of which only a position is known.
    package init(unknownUpTo position: Int64) {
        self.position = position
        isWhole = false
    }

    /// The sum of the checksums of all PUTs that nothing has superseded.
    package var reducedSum: Checksum { checksums.values.reduce(.zero) { $0 + $1 } }

    /// The texts that the client may see for each row.
    package var texts: [RowName: Set<ExactText>] {
        var result: [RowName: Set<ExactText>] = [:]
        for (key, text) in rows { result[key.row, default: []].insert(text) }
        return result
    }

    /// Applies one operation.
    ///
    /// - Parameter operation: an element of a data line.
    /// - Returns: what is wrong with it, nil if nothing is.
    package mutating func apply(_ operation: JSON) -> String? {
        guard let checksum = operation["checksum"]?.int64Value.flatMap(Checksum.init(exactly:)) else {
            return "an operation without a checksum of 32 bits"
        }
        let kind = operation["op"]?.stringValue
        if kind != "PUT" { hasOnlyPuts = false }
        sum += checksum
        switch kind {
        case "PUT", "REMOVE":
            guard let type = operation["object_type"]?.stringValue,
                let id = operation["object_id"]?.stringValue,
                let subkey = operation["subkey"]?.stringValue, let data = operation["data"]
            else { return "a \(kind ?? "") without object_type, object_id, subkey or data" }
            let row = RowName(type: ExactText(type), id: ExactText(id))
            let key = Key(row: row, subkey: ExactText(subkey))
            rows[key] = kind == "PUT" ? ExactText(RecordedJSON.canonical(data)) : nil
            checksums[key] = kind == "PUT" ? checksum : nil
            // Of a text that is recorded by its digest, and of nested data, the exact text is not known.
            let proper =
                kind == "REMOVE"
                ? OperationChecksum.remove(subkey: subkey)
                : data.stringValue.map { OperationChecksum.put(type: type, id: id, data: $0) }
            if let proper, proper != checksum {
                return "the checksum of a \(kind ?? "") of \(row) is \(checksum.signed), "
                    + "its content has \(proper.signed)"
            }
        case "MOVE": break
        case "CLEAR":
            rows = [:]
            checksums = [:]
            sum = checksum
        default: return "an operation of kind \(kind ?? "none")"
        }
        return nil
    }
}
