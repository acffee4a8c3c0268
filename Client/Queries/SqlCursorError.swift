#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A column that cannot be read as asked.
public enum SqlCursorError: Error {
    /// The row has no column of this name.
    case columnNotFound(_ name: String)
    /// The column is NULL, or its index out of range, and the getter wants a value.
    case nullValueFound(_ name: String)
}

extension SqlCursorError: LocalizedError {
    /// `SqlCursorError:<case>:<name>`.
    public var errorDescription: String? {
        switch self {
        case .columnNotFound(let name): "SqlCursorError:columnNotFound:\(name)"
        case .nullValueFound(let name): "SqlCursorError:nullValueFound:\(name)"
        }
    }
}
