#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A value that SQLite can store, as bound to a placeholder.
public enum PowerSyncDataType {
    /// A truth value, stored as 0 or 1.
    case bool(Bool)
    /// A text.
    case string(String)
    /// A whole number of 64 bits.
    case int64(Int64)
    /// A whole number of 32 bits.
    case int32(Int32)
    /// A floating-point number.
    case double(Double)
    /// Bytes.
    case data(Data)
}

extension PowerSyncDataType: Sendable {}

/// A type of the app that can be used as a query parameter.
public protocol PowerSyncDataTypeConvertible {
    /// The value to bind; nil binds NULL.
    var psDataType: PowerSyncDataType? { get }
}

extension PowerSyncDataType {
    /// Converts one query parameter; nil stands for NULL (client-api 1.4).
    ///
    /// - Parameter value: what the app passed.
    /// - Returns: the value to bind.
    /// - Throws: `operationFailed` for a type that is neither known nor convertible.
    package static func converting(_ value: Any?) throws(PowerSyncError) -> PowerSyncDataType? {
        guard let value else { return nil }
        switch value {
        case let value as any PowerSyncDataTypeConvertible: return value.psDataType
        case let value as Bool: return .bool(value)
        case let value as String: return .string(value)
        case let value as Int64: return .int64(value)
        case let value as Int: return .int64(Int64(value))
        case let value as Int32: return .int32(value)
        case let value as Double: return .double(value)
        case let value as Data: return .data(value)
        case let value as any NestedOptional where value.isNil: return nil
        default:
            throw PowerSyncError(
                .invalidArgument, "Invalid parameter, expected Bool, String, Int64, Int32, Double or Data")
        }
    }
}

/// An optional inside an existential, as `[Sendable?]` gets it from a variable of type `String?`.
///
/// Casts look through an optional that holds a value, so only the empty one needs this.
private protocol NestedOptional {
    var isNil: Bool { get }
}

extension Optional: NestedOptional {
    fileprivate var isNil: Bool {
        switch self {
        case .none: true
        case .some(let value): (value as? any NestedOptional)?.isNil ?? false
        }
    }
}
