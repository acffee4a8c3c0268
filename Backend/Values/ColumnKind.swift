/// How the values of a column are read from JSON, by the column's type in the catalog (backend 2.4).
package indirect enum ColumnKind: Sendable, Hashable {
    /// true and false, spelled 0 and 1 by clients.
    case boolean
    /// Whole numbers of 16, 32 or 64 bits.
    case integer(bits: Int)
    /// Decimals; the scale is nil where the column has none.
    case numeric(scale: Int?)
    /// Binary floating point.
    case real
    /// Texts; the limit in characters is nil where the column has none.
    case text(limit: Int?)
    /// json and jsonb.
    case json
    /// bytea, carried as `\x…` or base64.
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
    /// A type whose values are written as text and checked by Postgres alone: inet, bit strings.
    case textForm
    /// A range or a multirange, of numbers too.
    case range
    /// An array.
    case array(ColumnKind)
    /// A type that is written only where the table map says so.
    case unsupported

    /// Whether two ids are equal exactly if their texts after conversion are, so that rows can be told apart
    /// before Postgres has seen them.
    package var hasCanonicalText: Bool {
        switch self {
        case .integer, .uuid: true
        case .text(let limit): limit == nil
        default: false
        }
    }
}
