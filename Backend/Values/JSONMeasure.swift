import PowerSyncWire

/// What Postgres prints of JSON, added up while it is read (backend 7, number 10).
///
/// jsonb writes every digit of a number that was sent as `1e400`, and blanks behind commas and colons.
struct JSONMeasure {
    /// At least as many bytes as Postgres prints of what was added.
    private(set) var printed = 0

    /// Adds a value.
    ///
    /// - Throws: `ValueRefusal` for what Postgres would not store or not print.
    mutating func add(_ value: JSON, depth: Int = 0) throws(ValueRefusal) {
        try check(depth)
        switch value {
        case .null, .bool: printed += 5
        case .number(let lexeme): try add(number: lexeme)
        case .string(let text): try add(quoted: text)
        case .array(let elements):
            printed += 2 + 2 * elements.count
            for element in elements { try add(element, depth: depth + 1) }
        case .object(let members):
            printed += 2 + 4 * members.count
            for member in members {
                try add(quoted: member.name)
                try add(member.value, depth: depth + 1)
            }
        }
        try checkLength()
    }

    /// Adds the value that a text spells, without making a tree of it.
    ///
    /// - Throws: `ValueRefusal` for a text that is no JSON, and as above.
    mutating func add(text: String) throws(ValueRefusal) {
        var text = text
        var copy = self
        let result = text.withUTF8 { buffer -> Result<JSONMeasure, ValueRefusal> in
            // What is too long for a number is found below.
            let limits = JSONLimits(depth: ValueConversion.jsonDepth + 1, numberBytes: .max)
            var scanner = JSONScanner(buffer, limits: limits)
            do throws(ValueRefusal) {
                try copy.addNext(&scanner, depth: 0)
                try Self.read { () throws(WireError) in try scanner.end() }
                return .success(copy)
            } catch {
                return .failure(error)
            }
        }
        self = try result.get()
    }

    private mutating func addNext(_ scanner: inout JSONScanner, depth: Int) throws(ValueRefusal) {
        try check(depth)
        switch try Self.read({ () throws(WireError) in try scanner.peek() }) {
        case .null, .bool:
            printed += 5
            try Self.read { () throws(WireError) in try scanner.skip() }
        case .number: try add(number: Self.read { () throws(WireError) in try scanner.number() })
        case .string: try add(quoted: Self.read { () throws(WireError) in try scanner.string() })
        case .array:
            printed += 2
            try Self.read { () throws(WireError) in try scanner.beginArray() }
            var isFirst = true
            while try Self.read({ () throws(WireError) in try scanner.nextElement(isFirst: isFirst) }) {
                isFirst = false
                printed += 2
                try addNext(&scanner, depth: depth + 1)
            }
        case .object:
            printed += 2
            try Self.read { () throws(WireError) in try scanner.beginObject() }
            var isFirst = true
            while let name = try Self.read({ () throws(WireError) in try scanner.nextName(isFirst: isFirst) })
            {
                isFirst = false
                printed += 4
                try add(quoted: name)
                try addNext(&scanner, depth: depth + 1)
            }
        }
        try checkLength()
    }

    private static func read<Value>(_ body: () throws(WireError) -> Value) throws(ValueRefusal) -> Value {
        do throws(WireError) {
            return try body()
        } catch {
            throw error.code == .tooLarge ? Self.tooDeep : .invalid("JSON")
        }
    }

    private mutating func add(number lexeme: String) throws(ValueRefusal) {
        guard let number = DecimalText(lexeme) else { throw .tooLargeNumber }
        // json prints what was sent.
        printed += max(number.printedLength, lexeme.utf8.count)
    }

    private mutating func add(quoted text: String) throws(ValueRefusal) {
        var length = 2
        for byte in text.utf8 {
            guard byte != 0 else { throw .nulCharacter }
            length += byte < 0x20 ? 6 : byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") ? 2 : 1
        }
        printed += length
    }

    private func check(_ depth: Int) throws(ValueRefusal) {
        guard depth <= ValueConversion.jsonDepth else { throw Self.tooDeep }
    }

    private func checkLength() throws(ValueRefusal) {
        guard printed <= ValueConversion.textLimit else { throw .tooLong }
    }

    private static var tooDeep: ValueRefusal {
        .invalid("JSON nested at most \(ValueConversion.jsonDepth) deep")
    }
}
