/// The text form of a value as Postgres reads it.
package struct ConvertedValue: Sendable, Hashable {
    /// The text; nil is NULL.
    package let text: String?
    /// Whether the stored value will differ from the one sent.
    package let isAdjusted: Bool
    /// At least as many bytes as Postgres prints of the value, which can be far more than the text has: `1e400`.
    package let printedLength: Int

    /// Makes a value of its parts.
    ///
    /// - Parameters:
    ///   - text: The text; nil is NULL.
    ///   - isAdjusted: Whether the stored value will differ from the one sent.
    ///   - printedLength: What Postgres prints if that can be more than the text has.
    package init(_ text: String?, isAdjusted: Bool = false, printedLength: Int = 0) {
        self.text = text
        self.isAdjusted = isAdjusted
        self.printedLength = max(printedLength, text?.utf8.count ?? 0)
    }
}

/// Why a value cannot be stored in its column; the reason holds no value.
package struct ValueRefusal: Error, Sendable, Hashable {
    /// `INVALID_DATA`, `NUL_CHARACTER` or `TOO_LARGE`.
    package let code: String
    /// What was expected.
    package let reason: String
}

extension ValueRefusal {
    static func invalid(_ expected: String) -> ValueRefusal {
        ValueRefusal(code: "INVALID_DATA", reason: "expected " + expected)
    }

    /// libpq passes texts that end at the first NUL: the rest would be lost without a word.
    static let nulCharacter = ValueRefusal(
        code: "NUL_CHARACTER", reason: "expected a text without the character U+0000")

    /// Postgres prints every digit that the exponent stands for.
    static let tooLargeNumber = ValueRefusal(
        code: "TOO_LARGE",
        reason:
            "expected numbers of at most \(DecimalText.limit) characters and exponents of at most that size")

    static let tooLong = ValueRefusal(
        code: "TOO_LARGE",
        reason: "expected a value of at most \(ValueConversion.textLimit) bytes as Postgres prints it")
}
