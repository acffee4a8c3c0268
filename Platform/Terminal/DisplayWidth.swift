/// How many columns texts take on a terminal.
package struct DisplayWidth: Sendable {
    private let measure: @Sendable (Unicode.Scalar) -> Int

    /// Measures as the C library does: wide characters of East Asia take two columns, marks that combine none.
    package init() {
        let locale = TextLocale()
        measure = { locale.width(of: $0) }
    }

    /// Measures characters that are not ASCII by a function.
    package init(_ measure: @escaping @Sendable (Unicode.Scalar) -> Int) { self.measure = measure }

    /// Returns the columns of one character: the sum of its parts, of which marks and joiners take none.
    package func of(_ character: Character) -> Int {
        character.unicodeScalars.reduce(0) { $0 + columns(of: $1) }
    }

    /// Returns the columns of a text in one line.
    package func of(_ text: some StringProtocol) -> Int {
        text.unicodeScalars.reduce(0) { $0 + columns(of: $1) }
    }

    private func columns(of scalar: Unicode.Scalar) -> Int {
        if scalar.isASCII { return scalar.value < 0x20 || scalar.value == 0x7F ? 0 : 1 }
        let width = measure(scalar)
        // What the library does not know yet is shown as one box by most terminals.
        return width < 0 ? 1 : width
    }
}
