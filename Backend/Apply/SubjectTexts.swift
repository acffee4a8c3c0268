import PowerSyncSystem

/// What a subject is in columns of owners, found once for each kind of column.
final class SubjectTexts: Sendable {
    private let subject: String
    private let known = Lock<[ColumnKind: String?]>([:])

    /// Makes the texts of a token's subject.
    init(_ subject: String) { self.subject = subject }

    /// Returns `ValueConversion.ownerText` of the subject.
    func text(as kind: ColumnKind) -> String? {
        if let known = known.withLock({ $0[kind] }) { return known }
        let text = ValueConversion.ownerText(subject, as: kind)
        known.withLock { _ = $0.updateValue(text, forKey: kind) }
        return text
    }
}
