/// One JSON value whose numbers keep the spelling they came in, and whose members keep their order.
///
/// Foundation's decoder turns `0.1234567890123456789012345` into a rounded double and `1.10` into `1.1`
/// (backend 2.4); what passes through this type reaches Postgres and SQLite digit for digit. Values are equal if they
/// are spelled alike, byte for byte. A value is as large as a text: none lies on the heap by itself.
package enum JSON: Sendable, Hashable {
    /// The value `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number, as it was spelled.
    case number(String)
    /// A text, unescaped.
    case string(String)
    /// Values in order.
    case array([JSON])
    /// Members in order; a name may occur twice unless the parser was told to refuse that.
    case object([JSONMember])

    /// Makes an integer.
    package static func integer(_ value: some BinaryInteger) -> JSON { .number(String(value)) }

    /// Returns the last member of that name, as most readers would; nil if this is no object or has none.
    package subscript(_ name: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        let name = ExactText(name)
        // By places: none of the others is copied.
        for place in members.indices.reversed() where ExactText(members[place].name) == name {
            return members[place].value
        }
        return nil
    }

    /// The text of a string, nil for every other kind.
    package var stringValue: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The value of `true` or `false`, nil for every other kind.
    package var boolValue: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The elements of an array, nil for every other kind.
    package var arrayValue: [JSON]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    /// The members of an object, nil for every other kind.
    package var objectMembers: [JSONMember]? {
        if case .object(let members) = self { members } else { nil }
    }

    /// The integer that a number spells exactly: digits, or a whole decimal such as `12.0` or `1e3`.
    package var int64Value: Int64? {
        guard case .number(let lexeme) = self else { return nil }
        return Int64(lexeme) ?? WholeNumber.value(of: lexeme)
    }

    /// Whether this is `null`.
    package var isNull: Bool {
        if case .null = self { true } else { false }
    }

    /// The value as compact JSON text, members in order, numbers as spelled.
    package var text: String { String(decoding: utf8, as: UTF8.self) }

    /// The bytes of `text`.
    package var utf8: [UInt8] {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return bytes
    }

    /// Appends the value as compact JSON text.
    package func append(to bytes: inout [UInt8]) {
        switch self {
        case .null: bytes.append(contentsOf: "null".utf8)
        case .bool(let value): bytes.append(contentsOf: (value ? "true" : "false").utf8)
        case .number(let lexeme): bytes.append(contentsOf: lexeme.utf8)
        case .string(let text): JSON.appendQuoted(text, to: &bytes)
        case .array(let elements):
            bytes.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                element.append(to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                JSON.appendQuoted(member.name, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                member.value.append(to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    /// Returns a JSON string literal; control characters as JavaScript writes them, all else literal (service 4.4).
    package static func quoted(_ text: String) -> String {
        var bytes: [UInt8] = []
        appendQuoted(text, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends a JSON string literal.
    package static func appendQuoted(_ text: String, to bytes: inout [UInt8]) {
        let isDone: Void? = text.utf8.withContiguousStorageIfAvailable { appendQuoted($0, to: &bytes) }
        guard isDone == nil else { return }
        var text = text
        text.withUTF8 { appendQuoted($0, to: &bytes) }
    }

    /// Appends a JSON string literal.
    ///
    /// - Parameters:
    ///   - utf8: the text; what is not UTF-8 in it is taken over as it is.
    ///   - bytes: where the literal goes.
    package static func appendQuoted(_ utf8: UnsafeBufferPointer<UInt8>, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        appendEscaped(UnsafeRawBufferPointer(utf8), to: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    /// Appends the digits of an integer, behind its sign.
    package static func appendInteger(_ integer: Int64, to bytes: inout [UInt8]) {
        if integer < 0 { bytes.append(UInt8(ascii: "-")) }
        var (low, rest) = (bytes.count, integer.magnitude)
        repeat {
            bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
            rest /= 10
        } while rest > 0
        var high = bytes.count - 1
        while low < high {
            bytes.swapAt(low, high)
            low += 1
            high -= 1
        }
    }
}

extension JSON {
    /// Compares texts, names and spellings of numbers by their bytes.
    package static func == (left: JSON, right: JSON) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.number(let left), .number(let right)), (.string(let left), .string(let right)):
            ExactText(left) == ExactText(right)
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        default: false
        }
    }

    /// Hashes the bytes.
    package func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .bool(let value): hasher.combine(value)
        case .number(let text), .string(let text): hasher.combine(ExactText(text))
        case .array(let elements): hasher.combine(elements)
        case .object(let members): hasher.combine(members)
        }
    }
}

/// One member of a JSON object.
package struct JSONMember: Sendable, Hashable {
    /// The name, unescaped.
    package let name: String
    /// The value.
    package let value: JSON

    /// Makes a member.
    package init(_ name: String, _ value: JSON) {
        self.name = name
        self.value = value
    }

    /// Compares names by their bytes.
    package static func == (left: JSONMember, right: JSONMember) -> Bool {
        ExactText(left.name) == ExactText(right.name) && left.value == right.value
    }

    /// Hashes the bytes.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(ExactText(name))
        hasher.combine(value)
    }
}
