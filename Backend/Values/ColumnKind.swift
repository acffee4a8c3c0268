/// How the values of a column are read from JSON, by the column's type in the catalog (backend 2.4).
package indirect enum ColumnKind: Sendable, Hashable {
    /// true and false, spelled 0 and 1 by clients.
    case boolean
    /// Whole numbers of 16, 32 or 64 bits.
    case integer(bits: Int)
    /// Decimals; the scale is nil where the column has none, and below zero where it rounds to tens or hundreds.
    case numeric(scale: Int?)
    /// Binary floating point.
    case real
    /// Texts; the limit in characters is nil where the column has none.
    case text(limit: Int?)
    /// Names as the catalog has them, of at most 63 bytes: Postgres cuts longer ones without a word.
    case name
    /// Texts that are filled up with blanks; the length is nil where the column has none.
    case paddedText(length: Int?)
    /// json and jsonb.
    case json
    /// bytea, carried as `\x…`, base64 or hexadecimal digits.
    case bytes
    /// timestamp with time zone.
    case instant
    /// timestamp without time zone, kept in UTC.
    case timestamp
    /// A day.
    case date
    /// A time of day, with or without an offset.
    case time
    /// A length of time.
    case interval
    /// uuid.
    case uuid
    /// A label of an enumeration.
    case label
    /// A bit string.
    case bits
    /// An address of a network or a device.
    case address
    /// A type whose values are written as text and checked by Postgres alone: citext.
    case textForm
    /// A range or a multirange of such values; nil where the catalog does not tell of which.
    case range(of: ColumnKind?)
    /// An array.
    case array(ColumnKind)
    /// A type that is written only where the table map says so.
    case unsupported

    /// Whether of some texts only Postgres can tell if they are values of the type.
    var isKnownToPostgresAlone: Bool { self == .unsupported || self == .range(of: nil) }

    /// Whether values can be names that clients choose, such as ids of attachments, and be found by their texts.
    package var holdsNames: Bool {
        switch self {
        case .text, .paddedText, .name, .textForm, .uuid, .integer: true
        default: false
        }
    }

    /// Whether two values are equal exactly if their texts after conversion are, where the collation tells all texts apart.
    package var hasCanonicalText: Bool {
        switch self {
        case .integer, .uuid, .name: true
        case .text(let limit): limit == nil
        default: false
        }
    }
}
