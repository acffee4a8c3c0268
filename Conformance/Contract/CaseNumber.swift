/// The number of a case of the contract (backend 9.2), such as 46, or 44a where a case has parts.
package struct CaseNumber: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The number.
    package let number: Int
    /// The letter behind it; empty for a whole case.
    package let part: String

    /// Reads a number as files spell it; nil for anything else, such as 0 or 046.
    package init?(_ text: String) {
        let digits = text.prefix { ("0"..."9").contains($0) }
        let part = text[digits.endIndex...]
        guard let number = Int(digits), number > 0, digits.first != "0" else { return nil }
        guard part.isEmpty || part.count == 1 && part.allSatisfy({ ("a"..."z").contains($0) }) else {
            return nil
        }
        self.number = number
        self.part = String(part)
    }

    /// The number as it was read.
    package var description: String { String(number) + part }

    /// Whether a case stands before another one in the contract.
    package static func < (left: CaseNumber, right: CaseNumber) -> Bool {
        (left.number, left.part) < (right.number, right.part)
    }
}
