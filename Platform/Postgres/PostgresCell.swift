/// A value of a row where its text lies in a buffer, in the text form of its type.
package struct PostgresCell: Sendable, Hashable {
    /// NULL.
    package static let null = PostgresCell(offset: .max, count: 0)
    /// A large value that an update did not touch and the server therefore did not send.
    package static let unchanged = PostgresCell(offset: .max, count: 1)

    /// Where the text begins; `UInt32.max` for the two values without one.
    package let offset: UInt32
    /// How many bytes the text has.
    package let count: UInt32

    /// Makes the cell of a text; a buffer has less than 4 GiB.
    package init(_ range: Range<Int>) {
        self.init(offset: UInt32(range.lowerBound), count: UInt32(range.count))
    }

    private init(offset: UInt32, count: UInt32) {
        self.offset = offset
        self.count = count
    }

    /// Where the text lies; nil for the two values without one.
    package var range: Range<Int>? {
        offset == .max ? nil : Int(offset)..<Int(offset) + Int(count)
    }
}
