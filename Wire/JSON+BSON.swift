extension JSON {
    /// Reads one BSON document as the JSON that it stands for, members in order.
    ///
    /// - Parameters:
    ///   - bytes: the document with its length, and nothing behind it.
    ///   - limits: what is refused although it is BSON.
    /// - Returns: the value; a double is spelled with a point or an exponent.
    /// - Throws: `WireError` with `.malformedBSON` or `.tooLarge`; malformed are types without a JSON counterpart, too.
    package static func parse(bson bytes: [UInt8], limits: JSONLimits = .standard) throws(WireError) -> JSON {
        let result = bytes.withUnsafeBufferPointer { buffer -> Result<JSON, WireError> in
            var scanner = BSONScanner(buffer, limits: limits)
            do throws(WireError) {
                let value = try scanner.value()
                guard scanner.remaining == 0 else {
                    throw WireError(.malformedBSON, "\(scanner.remaining) bytes behind the document")
                }
                return .success(value)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}

extension BSONScanner {
    /// Reads the next value, whatever it is, as a tree.
    fileprivate mutating func value() throws(WireError) -> JSON {
        try countValue()
        if passNull() { return .null }
        if isNext(.bool) { return .bool(try bool()) }
        if isNext(.string) { return .string(try string()) }
        if isNext(.array) {
            var elements: [JSON] = []
            try self.elements { (scanner) throws(WireError) in elements.append(try scanner.value()) }
            return .array(elements)
        }
        if isNext(.object) {
            var members: [JSONMember] = []
            try object { (name, scanner) throws(WireError) in
                members.append(JSONMember(name.string, try scanner.value()))
            }
            return .object(members)
        }
        switch try scannedNumber() {
        case .integer(let number): return .integer(number)
        case .decimal(let number):
            guard number.isFinite else {
                throw WireError(.malformedBSON, "a number that is not finite")
            }
            return .number("\(number)")
        }
    }
}
