import PowerSyncWire

/// Spells the names of buckets, without `N#` (service 5).
package enum BucketSpelling {
    /// The name of a bucket.
    ///
    /// - Parameters:
    ///   - source: The part before the values, such as `todos|0`.
    ///   - values: The spelled values, one for each key.
    /// - Returns: The name.
    package static func name(source: ExactText, values: [String]) -> ExactText {
        ExactText(source.text + "[" + values.joined(separator: ",") + "]")
    }

    /// A value as it stands in a name; equal texts mean the same bucket.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - listsNull: Whether NULL has a spelling: of a request, in editions 1 and 2.
    /// - Returns: The text; nil if there is no bucket for such a value.
    package static func text(_ value: ScalarValue, listsNull: Bool = false) -> String? {
        switch value {
        case .null: listsNull ? "null" : nil
        case .blob: nil
        case .integer(let integer): String(integer)
        case .wide(let integer): integer.digits.text
        case .real(let real): self.text(real)
        case .text(let text): JSON.quoted(text.text)
        }
    }

    /// A double as it stands in a name: a whole one as the integer that it equals, with all digits.
    ///
    /// - Parameter real: The double.
    /// - Returns: The text; nil for what is no number, which equals nothing, itself included.
    static func text(_ real: Double) -> String? {
        if real.isNaN { return nil }
        return WideInteger(wholeNumber: real)?.digits.text ?? NumberText.normalized(real)
    }
}

extension ScalarValue {
    /// The value as a key of a lookup: equal ones find the same rows (service 6.9).
    ///
    /// A double without a fraction is the integer. NULL, BLOBs and what is no number find nothing: nil.
    package var keyValue: ScalarValue? {
        switch self {
        case .null, .blob: return nil
        case .integer, .wide, .text: return self
        case .real(let real):
            if real.isNaN { return nil }
            if let integer = Int64(exactly: real) { return .integer(integer) }
            return WideInteger(wholeNumber: real).map { .wide($0) } ?? self
        }
    }
}
