import PowerSyncWire

/// A column of a table: a name, and the type that the view casts its values to.
public protocol ColumnProtocol: Equatable, Sendable {
    /// The name of the column.
    var name: String { get }
    /// What values are cast to when they are read.
    var type: ColumnData { get }
}

/// What the values of a column are cast to when they are read.
public enum ColumnData: Sendable, Encodable {
    /// Text.
    case text
    /// A signed 64-bit integer; also for truth values, as 0 and 1.
    case integer
    /// A double.
    case real

    /// Encodes the type as its name: `text`, `integer` or `real`.
    public func encode(to encoder: any Encoder) throws { try JsonValue(json).encode(to: encoder) }

    var json: JSON {
        switch self {
        case .text: .string("text")
        case .integer: .string("integer")
        case .real: .string("real")
        }
    }
}

/// A single column of a table.
///
/// Every table has a text column `id`, which is not declared.
///
/// ```swift
/// let columns: [Column] = [.text("description"), .integer("completed"), .real("price")]
/// ```
public struct Column: ColumnProtocol, Encodable {
    /// The name of the column.
    public let name: String
    /// What values are cast to when they are read.
    public let type: ColumnData

    /// Creates a column.
    public init(name: String, type: ColumnData) {
        self.name = name
        self.type = type
    }

    /// Creates a text column.
    public static func text(_ name: String) -> Column { Column(name: name, type: .text) }

    /// Creates an integer column.
    public static func integer(_ name: String) -> Column { Column(name: name, type: .integer) }

    /// Creates a column of doubles.
    public static func real(_ name: String) -> Column { Column(name: name, type: .real) }

    /// Encodes the column as it stands in the JSON of a schema.
    public func encode(to encoder: any Encoder) throws { try JsonValue(json).encode(to: encoder) }

    var json: JSON { .object([JSONMember("name", .string(name)), JSONMember("type", type.json)]) }
}
