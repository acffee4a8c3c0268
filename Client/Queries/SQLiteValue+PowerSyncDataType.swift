import PowerSyncSQLite

extension SQLiteValue {
    /// Takes the value of a query parameter over; nil is NULL.
    init(_ value: PowerSyncDataType?) {
        switch value {
        case .bool(let value): self = .integer(value ? 1 : 0)
        case .string(let value): self = .text(value)
        case .int64(let value): self = .integer(value)
        case .int32(let value): self = .integer(Int64(value))
        case .double(let value): self = .real(value)
        case .data(let value): self = .blob([UInt8](value))
        case nil: self = .null
        }
    }
}
