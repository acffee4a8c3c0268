/// Reads the values of a sync line one by one, in whichever format they come (client-core 5.4).
///
/// The readers of lines are written once, in terms of this protocol, and specialised for each format: nothing is
/// looked up at run time, and no value becomes a `String` that is not kept as one.
protocol FieldReader {
    /// Whether keys behind the first one that is known are passed unread.
    ///
    /// The official core does so in BSON and refuses them in JSON (client-core 5.3).
    static var passesTrailingKeys: Bool { get }

    /// The bytes that have not been read; texts that follow are not longer than that altogether.
    var remaining: Int { get }

    /// Whether the next value is of that kind.
    mutating func isNext(_ kind: JSONScanner.Kind) throws(WireError) -> Bool

    /// Reads an object and gives each name to `member`, which must read or skip the value.
    mutating func object(_ member: (ScannedText, inout Self) throws(WireError) -> Void) throws(WireError)

    /// Reads an array; `element` must read or skip one value each time.
    mutating func elements(_ element: (inout Self) throws(WireError) -> Void) throws(WireError)

    /// Passes `null` if it is next, and tells whether it was.
    mutating func passNull() throws(WireError) -> Bool

    /// Reads true or false.
    mutating func bool() throws(WireError) -> Bool

    /// Reads a number.
    mutating func scannedNumber() throws(WireError) -> ScannedNumber

    /// Reads a text and leaves it where it is, if that can be.
    mutating func scannedText() throws(WireError) -> ScannedText

    /// Reads a text and copies it, unescaped, behind what the writer holds.
    mutating func text(into writer: inout TextWriter) throws(WireError) -> OperationList.Text

    /// Passes a value of any kind, checking its form.
    mutating func skip() throws(WireError)
}

/// A number as a line spells it.
enum ScannedNumber {
    /// A whole number, spelled as one, in 64 bits.
    case integer(Int64)
    /// Any other number.
    case decimal(Double)
}

/// The shapes that fields of the sync protocol have (client-core 5.4).
extension FieldReader {
    /// Reads an array whose elements `element` reads.
    mutating func array<Element>(
        _ element: (inout Self) throws(WireError) -> Element
    ) throws(WireError) -> [Element] {
        var elements: [Element] = []
        try self.elements { (reader) throws(WireError) in elements.append(try element(&reader)) }
        return elements
    }

    /// Reads a text.
    mutating func string() throws(WireError) -> String { try scannedText().string }

    /// Reads a text into the writer, or `null`.
    mutating func optionalText(into writer: inout TextWriter) throws(WireError) -> OperationList.Text {
        if try passNull() { return .absent }
        return try text(into: &writer)
    }

    /// Reads a signed 64-bit number that is spelled as a text.
    mutating func decimal(_ path: StaticString) throws(WireError) -> Int64 {
        guard try isNext(.string), let number = try scannedText().int64 else {
            throw .field("\(path)", "a decimal number as text")
        }
        return number
    }

    /// Reads a 64-bit number as text, or `null`.
    mutating func optionalDecimal(_ path: StaticString) throws(WireError) -> Int64? {
        if try passNull() { return nil }
        return try decimal(path)
    }

    /// Reads a 64-bit number as text; anything else is passed and counts as absent.
    mutating func lenientDecimal() throws(WireError) -> Int64? {
        guard try isNext(.string) else {
            try skip()
            return nil
        }
        return try scannedText().int64
    }

    /// Reads a number of 32 bits that is spelled without a decimal point.
    mutating func integer(_ path: StaticString) throws(WireError) -> Int32 {
        guard case .integer(let number) = try scannedNumber(), let number = Int32(exactly: number) else {
            throw .field("\(path)", "a whole number in 32 bits")
        }
        return number
    }

    /// Reads a whole number, which may be spelled as a decimal (`3.0`).
    mutating func whole(_ path: StaticString) throws(WireError) -> Int64 {
        switch try scannedNumber() {
        case .integer(let number): return number
        case .decimal(let double):
            guard let number = Int64(exactly: double) else { throw .field("\(path)", "a whole number") }
            return number
        }
    }

    /// Reads a checksum: from −2^31 to 2^32−1, whole, also spelled as a decimal.
    mutating func checksum() throws(WireError) -> Checksum {
        guard let checksum = Checksum(exactly: try whole("checksum")) else {
            throw .field("checksum", "a number from -2147483648 to 4294967295")
        }
        return checksum
    }

    /// Reads a priority: not negative and below the one that stands for a complete sync.
    mutating func priority() throws(WireError) -> Int {
        let priority = try integer("priority")
        guard priority >= 0, priority < Int32.max else { throw .field("priority", "a whole number from 0") }
        return Int(priority)
    }
}
