import PowerSyncWire

/// A value of a row or a request; texts are equal if they have the same bytes.
package enum ScalarValue: Sendable, Hashable {
    /// SQL NULL.
    case null
    /// A signed 64-bit integer.
    case integer(Int64)
    /// An integer beyond 64 bits: integers of the default engine have no end.
    case wide(WideInteger)
    /// A double.
    case real(Double)
    /// UTF-8 text.
    case text(ExactText)
    /// Bytes.
    case blob([UInt8])

    /// Makes 1 or 0.
    package init(_ holds: Bool) { self = .integer(holds ? 1 : 0) }

    /// Makes a text.
    package init(text: String) { self = .text(ExactText(text)) }

    /// Makes an integer of any size: `integer` if it fits 64 bits, else `wide`; nil if the text is no integer.
    ///
    /// - Parameter digits: Decimal digits, a minus before them if it is negative.
    package init?(digits: String) {
        if let integer = Int64(digits), digits.utf8.first != UInt8(ascii: "+") {
            self = .integer(integer)
        } else if let integer = WideInteger(digits: digits) {
            self = .wide(integer)
        } else {
            return nil
        }
    }

    /// Whether it is SQL NULL.
    package var isNull: Bool { self == .null }
}
