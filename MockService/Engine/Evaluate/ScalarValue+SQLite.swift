import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncWire

extension ScalarValue {
    /// Takes a value of SQLite over.
    package init(_ value: SQLiteValue) {
        switch value {
        case .null: self = .null
        case .integer(let integer): self = .integer(integer)
        case .real(let real): self = .real(real)
        case .text(let text): self = .text(ExactText(text))
        case .blob(let bytes): self = .blob(bytes)
        }
    }

    /// The value as SQLite has it; an integer beyond 64 bits, which it lacks, is the text of its digits.
    package var stored: SQLiteValue {
        switch self {
        case .null: .null
        case .integer(let integer): .integer(integer)
        case .wide(let integer): .text(integer.digits.text)
        case .real(let real): .real(real)
        case .text(let text): .text(text.text)
        case .blob(let bytes): .blob(bytes)
        }
    }
}

extension Slot {
    /// Takes a value of SQLite over.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - arena: Gets the bytes of a text or blob at its end.
    package init(_ value: SQLiteValue, in arena: inout [UInt8]) {
        self.init(scalar: ScalarValue(value), in: &arena)
    }

    /// The value with bytes of its own; NULL for one that was left out.
    ///
    /// - Parameter arena: What texts and blobs lie in.
    /// - Returns: The value.
    package func value(in arena: [UInt8]) -> SQLiteValue { scalar(in: arena).stored }
}
