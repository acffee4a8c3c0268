extension JSON {
    /// Reads one JSON text (RFC 8259) with nothing but white space behind it.
    ///
    /// - Parameters:
    ///   - bytes: UTF-8.
    ///   - limits: what is refused although it is JSON.
    /// - Returns: the value.
    /// - Throws: `WireError` with `.malformedJSON` or `.tooLarge`.
    package static func parse(_ bytes: [UInt8], limits: JSONLimits = .standard) throws(WireError) -> JSON {
        try reading(bytes, limits: limits) { (scanner: inout JSONScanner) throws(WireError) in
            try scanner.value(limits)
        }
    }

    /// Reads one JSON text.
    ///
    /// - Parameters:
    ///   - text: the text.
    ///   - limits: what is refused although it is JSON.
    /// - Returns: the value.
    /// - Throws: `WireError` with `.malformedJSON` or `.tooLarge`.
    package static func parse(_ text: String, limits: JSONLimits = .standard) throws(WireError) -> JSON {
        try parse(Array(text.utf8), limits: limits)
    }

    /// Returns a member of the object that a text begins with, also where what follows the member cannot be read.
    ///
    /// - Parameters:
    ///   - name: the name of the member, of which the first one counts.
    ///   - bytes: the text, or its beginning.
    ///   - limits: what is refused although it is JSON.
    /// - Returns: the member; nil if the text does not begin with an object, or cannot be read to the member's end.
    package static func leadingMember(
        _ name: String, of bytes: [UInt8], limits: JSONLimits = .standard
    ) -> JSON? {
        bytes.withUnsafeBufferPointer { buffer -> JSON? in
            var scanner = JSONScanner(buffer, limits: limits)
            do throws(WireError) {
                return try scanner.leadingMember(name, limits)
            } catch {
                // What cannot be read has no member that could be told.
                return nil
            }
        }
    }

    /// Gives a scanner over the bytes to `body` and requires that it reads them to their end.
    static func reading<Value>(
        _ bytes: [UInt8], limits: JSONLimits,
        _ body: (inout JSONScanner) throws(WireError) -> Value
    ) throws(WireError) -> Value {
        let result = bytes.withUnsafeBufferPointer { buffer -> Result<Value, WireError> in
            var scanner = JSONScanner(buffer, limits: limits)
            do throws(WireError) {
                let value = try body(&scanner)
                try scanner.end()
                return .success(value)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}

extension JSONScanner {
    /// For no more members than these room is made at once: behind a larger object that would be far more than a small one
    /// needs, and more than `UploadShape` counts.
    private static var mostReserved: Int { 16 }

    /// Reads the object that is next as far as its member of a name; nil if it has none.
    fileprivate mutating func leadingMember(
        _ name: String, _ limits: JSONLimits
    ) throws(WireError) -> JSON? {
        guard try peek() == .object else { return nil }
        try beginObject()
        var isFirst = true
        while let found = try nextName(isFirst: isFirst) {
            isFirst = false
            guard found == name else {
                try skip()
                continue
            }
            let member = try value(limits)
            skipSpace()
            // Where the bytes end a number may go on.
            return current == nil ? nil : member
        }
        return nil
    }

    /// Reads the next value, whatever it is, as a tree.
    mutating func value(_ limits: JSONLimits) throws(WireError) -> JSON {
        try countValue()
        switch try peek() {
        case .null:
            _ = try passNull()
            return .null
        case .bool: return .bool(try bool())
        case .number: return .number(try number())
        case .string: return .string(try string())
        case .array:
            var elements: [JSON] = []
            try beginArray()
            while try nextElement(isFirst: elements.isEmpty) { elements.append(try value(limits)) }
            return .array(elements)
        case .object:
            var members: [JSONMember] = []
            var names: Set<ExactText> = []
            try beginObject()
            while let name = try nextName(isFirst: members.isEmpty) {
                if limits.refusesDuplicateNames, !names.insert(ExactText(name)).inserted {
                    throw WireError(.malformedJSON, "a name occurs twice in one object")
                }
                let member = JSONMember(name, try value(limits))
                // One place that is large enough, where an array would move again and again to get as far.
                if members.isEmpty, usualMembers > 1 { members.reserveCapacity(usualMembers) }
                members.append(member)
            }
            usualMembers = members.count <= Self.mostReserved ? members.count : 0
            return .object(members)
        }
    }
}
