#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A watched query.
public struct WatchOptions<RowType>: Sendable {
    /// The query.
    public var sql: String
    /// The values of its placeholders, captured when the watch starts.
    public var parameters: [(any Sendable)?]
    /// The least time between two results, in seconds.
    public var throttle: TimeInterval
    /// Makes a value of each row.
    public var mapper: @Sendable (any SqlCursor) throws -> RowType

    /// Describes a watched query.
    ///
    /// - Parameters:
    ///   - sql: the query.
    ///   - parameters: the values of its placeholders.
    ///   - throttle: the least time between two results, in seconds; nil means the default.
    ///   - mapper: makes a value of each row.
    public init(
        sql: String, parameters: [(any Sendable)?]? = [], throttle: TimeInterval? = DEFAULT_WATCH_THROTTLE,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) {
        self.sql = sql
        self.parameters = parameters ?? []
        self.throttle = throttle ?? DEFAULT_WATCH_THROTTLE
        self.mapper = mapper
    }
}

/// The least time between two results of a watched query unless said otherwise: 30 milliseconds.
public let DEFAULT_WATCH_THROTTLE: TimeInterval = 0.03  // swift-format-ignore: AlwaysUseLowerCamelCase
