import PowerSyncWire

/// Whose rows are whose.
extension ValueConversion {
    /// Returns the value of an owner's column that is the subject's; nil for a subject that can own nothing there.
    ///
    /// The subject must be spelled as Postgres prints the value: else the rows of the owner 7 would belong to the subjects
    /// `07`, `7.0`, `7e0` and ` 7` as well, and whoever may choose a name could have them.
    ///
    /// - Parameters:
    ///   - subject: The subject of a token.
    ///   - kind: How the owner's column is read.
    /// - Returns: The text for Postgres.
    package static func ownerText(_ subject: String, as kind: ColumnKind) -> String? {
        // Nil for a refusal: the subject is no value of the type at all.
        guard let converted = try? convert(.string(subject), as: kind), let text = converted.text,
            !converted.isAdjusted
        else { return nil }
        let printed: String? =
            switch kind {
            case .integer, .uuid, .text, .name, .label, .textForm: text
            // Blanks behind it are no part of such a text.
            case .paddedText: text.utf8.last == UInt8(ascii: " ") ? nil : text
            case .numeric(let scale): DecimalText(text)?.text(scale: scale)
            default: nil
            }
        guard let printed, printed.utf8.elementsEqual(subject.utf8) else { return nil }
        return text
    }
}
