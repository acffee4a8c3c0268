import PowerSyncWire

/// One JSON value.
///
/// Whole numbers decode to ``int(_:)`` however they are spelled (`1.0` too), numbers beyond `Int` to
/// ``double(_:)``.
public enum JsonValue: Codable, Sendable, Equatable, Hashable {
    /// A text.
    case string(String)
    /// A whole number.
    case int(Int)
    /// Any other number.
    case double(Double)
    /// A truth value.
    case bool(Bool)
    /// The value null.
    case null
    /// A list of values.
    case array([JsonValue])
    /// Values by name, without order.
    case object([String: JsonValue])

    /// Decodes a value; tries null, truth value, whole number, number, text, list and object in this order.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = Self.attempt({ try container.decode(Bool.self) }) {
            self = .bool(value)
        } else if let value = Self.attempt({ try container.decode(Int.self) }) {
            self = .int(value)
        } else if let value = Self.attempt({ try container.decode(Double.self) }) {
            self = .double(value)
        } else if let value = Self.attempt({ try container.decode(String.self) }) {
            self = .string(value)
        } else if let value = Self.attempt({ try container.decode([JsonValue].self) }) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JsonValue].self))
        }
    }

    /// Encodes the value as plain JSON.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .string(let value): try container.encode(value)
        case .int(let value): try container.encode(value)
        case .double(let value): try container.encode(value)
        case .bool(let value): try container.encode(value)
        case .null: try container.encodeNil()
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }

    private static func attempt<T>(_ body: () throws -> T) -> T? {
        // A type that does not fit is the expected case here: the next one is tried.
        try? body()
    }
}

/// Named JSON values: client parameters, stream parameters, the columns of a CRUD entry.
public typealias JsonParam = [String: JsonValue]

extension JsonValue {
    /// Whether two values mean the same JSON: like `==`, but `1` equals `1.0`, and texts are compared by their bytes
    /// (client-api 1.14).
    package func isEquivalent(to other: JsonValue) -> Bool {
        switch (self, other) {
        case (.int(let left), .double(let right)), (.double(let right), .int(let left)):
            Int(exactly: right) == left
        case (.string(let left), .string(let right)):
            ExactText(left) == ExactText(right)
        case (.array(let left), .array(let right)):
            left.count == right.count && zip(left, right).allSatisfy { $0.isEquivalent(to: $1) }
        case (.object(let left), .object(let right)):
            left.isEquivalent(to: right)
        default:
            self == other
        }
    }
}

extension JsonParam {
    /// Whether both hold the same names with equivalent values.
    package func isEquivalent(to other: JsonParam) -> Bool {
        count == other.count
            && allSatisfy { name, value in
                guard let place = other.index(forKey: name) else { return false }
                return ExactText(other[place].key) == ExactText(name)
                    && value.isEquivalent(to: other[place].value)
            }
    }
}
