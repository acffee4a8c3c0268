/// A value as SQLite stores it; texts are equal if they have the same bytes, as in SQLite.
package enum SQLiteValue: Sendable, Hashable {
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

    /// Compares kind and value.
    package static func == (left: SQLiteValue, right: SQLiteValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.integer(let left), .integer(let right)): left == right
        case (.real(let left), .real(let right)): left == right
        case (.text(let left), .text(let right)): left.utf8.elementsEqual(right.utf8)
        case (.blob(let left), .blob(let right)): left == right
        default: false
        }
    }

    /// Hashes kind and value.
    package func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .integer(let value): hasher.combine(value)
        case .real(let value): hasher.combine(value)
        case .text(var text): text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        case .blob(let bytes): hasher.combine(bytes)
        }
    }
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
