/// A value as SQLite stores it.
package enum SQLiteValue: Sendable, Equatable, Hashable {
    /// SQL NULL.
    case null
    /// A signed 64-bit integer.
    case integer(Int64)
    /// A double; SQLite turns NaN into NULL.
    case real(Double)
    /// UTF-8 text, NUL characters included.
    case text(String)
    /// Bytes.
    case blob([UInt8])
}

extension SQLiteValue: ExpressibleByNilLiteral, ExpressibleByIntegerLiteral, ExpressibleByStringLiteral,
    ExpressibleByFloatLiteral
{
    /// Creates SQL NULL.
    package init(nilLiteral: ()) { self = .null }

    /// Creates an integer.
    package init(integerLiteral value: Int64) { self = .integer(value) }

    /// Creates text.
    package init(stringLiteral value: String) { self = .text(value) }

    /// Creates a double.
    package init(floatLiteral value: Double) { self = .real(value) }

    /// Creates text, or NULL for nil.
    package init(_ text: String?) { self = text.map { .text($0) } ?? .null }

    /// Creates an integer, or NULL for nil.
    package init(_ integer: Int64?) { self = integer.map { .integer($0) } ?? .null }

    /// Whether this is SQL NULL.
    package var isNull: Bool { self == .null }

    /// The integer of an integer value, else nil.
    package var integer: Int64? {
        if case .integer(let value) = self { value } else { nil }
    }

    /// The text of a text value, else nil.
    package var text: String? {
        if case .text(let value) = self { value } else { nil }
    }
}
