/// What the service needs to know of a Postgres type (service 6.13).
package indirect enum PostgresType: Sendable, Hashable {
    /// The text of Postgres, as it is; also every type that is not known.
    case text
    /// `name`, for which Postgres has a type of elements: what stands in braces is an array, as recorded.
    case name
    /// `bool`.
    case boolean
    /// `int2`, `int4`, `int8`, `oid`.
    case integer
    /// `float4`, `float8`.
    case real
    /// `bytea`.
    case bytes
    /// `json`, `jsonb`: text that arrays and composites embed as it is.
    case json
    /// `date`.
    case date
    /// `time` without zone.
    case time
    /// `timestamp` without zone.
    case timestamp
    /// `timestamptz`; the text must be in UTC.
    case timestampWithZone
    /// `pg_lsn`.
    case logPosition
    /// An array and the sign between its elements.
    case array(PostgresType, delimiter: Character)
    /// Named fields in order.
    case composite([CompositeField])
    /// A range of values.
    case range(PostgresType)
    /// Several ranges; the element is the type of the bounds.
    case multirange(PostgresType)

    /// One field of a composite type.
    package struct CompositeField: Sendable, Hashable {
        /// The name.
        package let name: String
        /// The type.
        package let type: PostgresType

        /// Makes a field.
        package init(name: String, type: PostgresType) {
            self.name = name
            self.type = type
        }
    }

    /// Whether the type is composite, or made of one that is.
    var hasFields: Bool {
        switch self {
        case .composite: true
        case .array(let element, _): element.hasFields
        case .range(let bound), .multirange(let bound): bound.hasFields
        default: false
        }
    }

    /// Names and types of the fields, each name with its length in front; empty without fields.
    package var fieldsText: String {
        switch self {
        case .composite(let fields):
            "("
                + fields.map {
                    "\($0.name.utf8.count):\($0.name) \($0.type.hasFields ? $0.type.fieldsText : $0.type.kind)"
                }.joined(separator: ",") + ")"
        case .array(let element, _): element.hasFields ? "[\(element.fieldsText)]" : ""
        case .range(let bound), .multirange(let bound): bound.hasFields ? "<\(bound.fieldsText)>" : ""
        default: ""
        }
    }

    /// What values are converted as, in a word.
    private var kind: String {
        switch self {
        case .text: "text"
        case .name: "name"
        case .boolean: "boolean"
        case .integer: "integer"
        case .real: "real"
        case .bytes: "bytes"
        case .json: "json"
        case .date: "date"
        case .time: "time"
        case .timestamp: "timestamp"
        case .timestampWithZone: "timestampWithZone"
        case .logPosition: "logPosition"
        case .array(let element, _): "[\(element.kind)]"
        case .composite: "composite"
        case .range(let bound): "range of \(bound.kind)"
        case .multirange(let bound): "multirange of \(bound.kind)"
        }
    }

    /// The type of a name in `pg_catalog` whose kind is a base type.
    package static func base(named name: String) -> PostgresType {
        switch name {
        case "name": .name
        case "bool": .boolean
        case "int2", "int4", "int8", "oid": .integer
        case "float4", "float8": .real
        case "bytea": .bytes
        case "json", "jsonb": .json
        case "date": .date
        case "time": .time
        case "timestamp": .timestamp
        case "timestamptz": .timestampWithZone
        case "pg_lsn": .logPosition
        default: .text
        }
    }
}
