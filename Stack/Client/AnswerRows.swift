import PowerSync
import PowerSyncSystem

/// The rows of one answer, spelled as JSON while they are read, so that no more is kept of them than what is written.
package final class AnswerRows: Sendable {
    private let limit: Int
    private let bytes = Lock<[UInt8]>([])

    /// Begins without rows.
    ///
    /// - Parameter limit: how many bytes there may be.
    package init(limit: Int) { self.limit = limit }

    /// Forgets all rows.
    func reset() { bytes.withLock { $0 = [] } }

    /// Adds the row of a cursor.
    ///
    /// - Parameter cursor: the row, of a database of the SDK.
    /// - Returns: where the row ends.
    /// - Throws: `ClientError` for a row for which there is no room, and for a cursor that does not tell which values
    ///   SQLite has.
    package func take(_ cursor: any SqlCursor) throws -> Int {
        guard let cursor = cursor as? any StoredValueCursor else {
            throw ClientError("this database does not tell the types of its values", code: .invalidState)
        }
        return try bytes.withLock { bytes in
            if !bytes.isEmpty { bytes.append(UInt8(ascii: ",")) }
            try ClientValue.append(cursor, to: &bytes, limit: limit)
            return bytes.count
        }
    }

    /// Returns all rows as an array of JSON, and forgets them.
    package func takeArray() -> [UInt8] {
        bytes.withLock { bytes in
            defer { bytes = [] }
            return [UInt8(ascii: "[")] + bytes + [UInt8(ascii: "]")]
        }
    }

    /// Returns what statements gave as an array of JSON, an element for each: its rows, or how many it has changed.
    ///
    /// - Parameter outcomes: what each gave, in their order, with the ends of its rows.
    /// - Returns: the array.
    package func results(of outcomes: [StatementOutcome<Int>]) -> [UInt8] {
        bytes.withLock { bytes in
            var json: [UInt8] = []
            var start = 0
            for outcome in outcomes {
                json.append(UInt8(ascii: json.isEmpty ? "[" : ","))
                switch outcome {
                case .changes(let count): json += Array(String(count).utf8)
                case .rows(let ends):
                    let end = ends.last ?? start
                    // A comma parts it from the rows of the statement before.
                    let rows = bytes[start..<end].drop { $0 == UInt8(ascii: ",") }
                    json.append(UInt8(ascii: "["))
                    json += rows
                    json.append(UInt8(ascii: "]"))
                    start = end
                }
            }
            return (json.isEmpty ? [UInt8(ascii: "[")] : json) + [UInt8(ascii: "]")]
        }
    }
}
