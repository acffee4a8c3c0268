import PowerSyncWire

extension JsonValue {
    /// Takes a parsed value over; a whole number within `Int` becomes ``int(_:)`` however it is spelled.
    package init(_ json: JSON) {
        switch json {
        case .null: self = .null
        case .bool(let value): self = .bool(value)
        case .number(let lexeme):
            if let whole = json.int64Value.flatMap({ Int(exactly: $0) }) {
                self = .int(whole)
            } else {
                self = .double(Double(lexeme) ?? .nan)
            }
        case .string(let value): self = .string(value)
        case .array(let values): self = .array(values.map { JsonValue($0) })
        case .object(let members): self = .object(JsonParam(members))
        }
    }

    /// The value for the wire, names in order of their bytes, so that equal values always have equal texts.
    ///
    /// JSON has no infinity and no NaN: the first is written as a number beyond every double, the second as null.
    package var json: JSON {
        switch self {
        case .null: .null
        case .bool(let value): .bool(value)
        case .int(let value): .integer(value)
        case .double(let value):
            value.isNaN ? .null : .number(value.isInfinite ? (value < 0 ? "-9e999" : "9e999") : "\(value)")
        case .string(let value): .string(value)
        case .array(let values): .array(values.map(\.json))
        case .object(let values): values.json
        }
    }
}

extension JsonParam {
    /// Takes the members of a parsed object over; the last one wins where names repeat.
    package init(_ members: [JSONMember]) {
        self = [:]
        for member in members { self[member.name] = JsonValue(member.value) }
    }

    /// The object for the wire, names in order of their bytes (client-core 7.1: identity is the text).
    package var json: JSON {
        .object(
            sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
                .map { JSONMember($0.key, $0.value.json) })
    }
}
