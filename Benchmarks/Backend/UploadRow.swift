import PowerSyncWire

/// One row that is uploaded.
struct UploadRow: Sendable {
    /// Its values in the order of `UploadTables.columns`, the id first.
    let values: [String?]

    /// The id.
    var id: String { values[0] ?? "" }

    /// Makes the rows of transactions, the same for the same seed.
    ///
    /// - Parameters:
    ///   - tables: where they go.
    ///   - count: how many.
    ///   - seed: no other has the ids of this one.
    /// - Returns: the rows in their order.
    static func rows(of tables: UploadTables, _ count: Int, seed: UInt64) -> [UploadRow] {
        var random = SplitMix(seed: seed)
        return (0..<count).map { number in
            let kind = UploadTables.kinds[number % UploadTables.kinds.count]
            let text = random.hexadecimal() + random.hexadecimal()
            let values: [String] = [random.uuid(), kind, text, String(number), "\(number).5"]
            let nulls = tables.hasNulls ? random.next() : 0
            return UploadRow(
                values: values.enumerated().map { column, value in
                    column > 0 && nulls >> UInt64(column) & 1 == 1 ? nil : value
                })
        }
    }

    /// Makes the operation that uploads it, as a client does: what is null is left out.
    ///
    /// - Parameters:
    ///   - table: its table.
    ///   - number: the number of the operation in the client's queue.
    /// - Returns: the operation.
    func operation(on table: String, number: Int) -> UploadOperation {
        let members = values.indices.dropFirst().compactMap { column in
            values[column].map { value in
                let isNumber = UploadTables.numbers.contains(column)
                return JSONMember(UploadTables.columns[column], isNumber ? .number(value) : .string(value))
            }
        }
        return UploadOperation(kind: .put, table: table, id: id, opID: Int64(number), data: members)
    }
}
