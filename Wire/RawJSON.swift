/// One JSON value kept as the text it came as, for data that only passes through.
package struct RawJSON: Sendable, Hashable {
    /// The text, unchecked.
    package let text: String

    /// Takes a text as it is.
    package init(text: String) { self.text = text }

    /// Whether this is `null`.
    package var isNull: Bool { text == "null" }

    /// Returns the value, parsed.
    ///
    /// - Throws: `WireError` for a text that is no JSON.
    package func parsed() throws(WireError) -> JSON { try JSON.parse(text) }

    /// Returns the members of an object in order, each value as it is spelled; nil for any other value.
    ///
    /// - Throws: `WireError` for a text that is no JSON.
    package func members() throws(WireError) -> [(name: String, value: RawJSON)]? {
        try JSON.reading(Array(text.utf8), limits: .standard) {
            (scanner: inout JSONScanner) throws(WireError) in
            guard try scanner.peek() == .object else { return try scanner.nothing() }
            var members: [(name: String, value: RawJSON)] = []
            try scanner.beginObject()
            while let name = try scanner.nextName(isFirst: members.isEmpty) {
                members.append((name, try scanner.raw()))
            }
            return members
        }
    }

    /// Returns the elements of an array in order, each as it is spelled; nil for any other value.
    ///
    /// - Throws: `WireError` for a text that is no JSON.
    package func elements() throws(WireError) -> [RawJSON]? {
        try JSON.reading(Array(text.utf8), limits: .standard) {
            (scanner: inout JSONScanner) throws(WireError) in
            guard try scanner.peek() == .array else { return try scanner.nothing() }
            var elements: [RawJSON] = []
            try scanner.beginArray()
            while try scanner.nextElement(isFirst: elements.isEmpty) { elements.append(try scanner.raw()) }
            return elements
        }
    }
}

extension JSONScanner {
    /// Passes a value of any kind and returns it as it is spelled.
    fileprivate mutating func raw() throws(WireError) -> RawJSON {
        skipSpace()
        let start = position
        try skip()
        guard let text = String(validating: bytes[start..<position], as: UTF8.self) else {
            throw malformed("UTF-8")
        }
        return RawJSON(text: text)
    }

    fileprivate mutating func nothing<Value>() throws(WireError) -> Value? {
        try skip()
        return nil
    }
}
