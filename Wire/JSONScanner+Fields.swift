extension JSONScanner: FieldReader {
    static var passesTrailingKeys: Bool { false }

    var remaining: Int { bytes.count - position }

    mutating func isNext(_ kind: Kind) throws(WireError) -> Bool { try peek() == kind }

    mutating func object(
        _ member: (ScannedText, inout JSONScanner) throws(WireError) -> Void
    ) throws(WireError) {
        try beginObject()
        var isFirst = true
        while let name = try nextScannedName(isFirst: isFirst) {
            isFirst = false
            try member(name, &self)
        }
    }

    mutating func elements(
        _ element: (inout JSONScanner) throws(WireError) -> Void
    ) throws(WireError) {
        try beginArray()
        var isFirst = true
        while try nextElement(isFirst: isFirst) {
            isFirst = false
            try element(&self)
        }
    }

    mutating func scannedNumber() throws(WireError) -> ScannedNumber {
        skipSpace()
        if let number = plainInteger() { return .integer(number) }
        let lexeme = try number()
        if let number = Int64(lexeme) { return .integer(number) }
        // What overflows a double is infinite, which no field takes.
        return .decimal(Double(lexeme) ?? .infinity)
    }

    /// Passes an integer of at most eighteen digits, which nearly every number is; nil, passing nothing, for others.
    private mutating func plainInteger() -> Int64? {
        let isNegative = current == UInt8(ascii: "-")
        let start = position + (isNegative ? 1 : 0)
        var index = start
        var number: Int64 = 0
        while index < bytes.count, index - start < 18 {
            let digit = bytes[index] &- UInt8(ascii: "0")
            guard digit < 10 else { break }
            number = number &* 10 &+ Int64(digit)
            index += 1
        }
        guard index > start, index < bytes.count, bytes[start] != UInt8(ascii: "0") || index == start + 1
        else {
            return nil
        }
        switch bytes[index] {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"):
            return nil
        default:
            position = index
            return isNegative ? -number : number
        }
    }
}
