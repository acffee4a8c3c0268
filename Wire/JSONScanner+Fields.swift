/// The shapes that fields of the sync protocol have (client-core 5.4).
extension JSONScanner {
    /// Reads an object and gives each name to `member`, which must read or skip the value.
    mutating func object(
        _ member: (String, inout JSONScanner) throws(WireError) -> Void
    ) throws(WireError) {
        try beginObject()
        var isFirst = true
        while let name = try nextName(isFirst: isFirst) {
            isFirst = false
            try member(name, &self)
        }
    }

    /// Reads an array whose elements `element` reads.
    mutating func array<Element>(
        _ element: (inout JSONScanner) throws(WireError) -> Element
    ) throws(WireError) -> [Element] {
        var elements: [Element] = []
        try beginArray()
        while try nextElement(isFirst: elements.isEmpty) { elements.append(try element(&self)) }
        return elements
    }

    /// Reads a text or `null`.
    mutating func optionalString() throws(WireError) -> String? {
        if try passNull() { return nil }
        return try string()
    }

    /// Reads a signed 64-bit number that is spelled as a text.
    mutating func decimal(_ path: String) throws(WireError) -> Int64 {
        guard try peek() == .string, let number = Int64(try string()) else {
            throw .field(path, "a decimal number as text")
        }
        return number
    }

    /// Reads a 64-bit number as text, or `null`.
    mutating func optionalDecimal(_ path: String) throws(WireError) -> Int64? {
        if try passNull() { return nil }
        return try decimal(path)
    }

    /// Reads a 64-bit number as text; anything else is passed and counts as absent.
    mutating func lenientDecimal() throws(WireError) -> Int64? {
        guard try peek() == .string else {
            try skip()
            return nil
        }
        return Int64(try string())
    }

    /// Reads a whole number, which may be spelled as a decimal (`3.0`).
    mutating func whole(_ path: String) throws(WireError) -> Int64 {
        let lexeme = try number()
        if let number = Int64(lexeme) { return number }
        guard let double = Double(lexeme), let number = Int64(exactly: double) else {
            throw .field(path, "a whole number")
        }
        return number
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
        guard let priority = Int32(try number()), priority >= 0, priority < Int32.max else {
            throw .field("priority", "a whole number from 0")
        }
        return Int(priority)
    }
}
