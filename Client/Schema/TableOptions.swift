import PowerSyncWire

/// How local writes to a table are treated.
public protocol TableOptionsProtocol: Sendable {
    /// Whether rows stay on this device: never uploaded, never touched by sync.
    var localOnly: Bool { get }
    /// Whether inserts are only queued for upload and not stored here.
    var insertOnly: Bool { get }
    /// Whether the view has a column `_metadata` whose value is uploaded with the write.
    var trackMetadata: Bool { get }
    /// Whether, and for which columns, the queue keeps the values before a write.
    var trackPreviousValues: TrackPreviousValuesOptions? { get }
    /// Whether an update that changes nothing is left out of the queue.
    var ignoreEmptyUpdates: Bool { get }
}

/// How local writes to a table are treated.
public struct TableOptions: TableOptionsProtocol {
    /// Whether rows stay on this device: never uploaded, never touched by sync.
    public let localOnly: Bool
    /// Whether inserts are only queued for upload and not stored here.
    public let insertOnly: Bool
    /// Whether the view has a column `_metadata` whose value is uploaded with the write.
    public let trackMetadata: Bool
    /// Whether, and for which columns, the queue keeps the values before a write.
    public let trackPreviousValues: TrackPreviousValuesOptions?
    /// Whether an update that changes nothing is left out of the queue.
    public let ignoreEmptyUpdates: Bool

    /// Creates options; without arguments those of an ordinary table.
    public init(
        localOnly: Bool = false, insertOnly: Bool = false, trackMetadata: Bool = false,
        trackPreviousValues: TrackPreviousValuesOptions? = nil, ignoreEmptyUpdates: Bool = false
    ) {
        self.localOnly = localOnly
        self.insertOnly = insertOnly
        self.trackMetadata = trackMetadata
        self.trackPreviousValues = trackPreviousValues
        self.ignoreEmptyUpdates = ignoreEmptyUpdates
    }
}

/// Which values from before a write the queue keeps.
public struct TrackPreviousValuesOptions: Sendable {
    /// The columns to keep; nil for all.
    public let columnFilter: [String]?
    /// Whether only columns that the write changed are kept.
    public let onlyWhenChanged: Bool

    /// Creates options; without arguments every column is kept.
    public init(columnFilter: [String]? = nil, onlyWhenChanged: Bool = false) {
        self.columnFilter = columnFilter
        self.onlyWhenChanged = onlyWhenChanged
    }
}

extension TableOptionsProtocol {
    /// The options as the core reads them (client-core 2.1).
    var jsonMembers: [JSONMember] {
        var members = [
            JSONMember("local_only", .bool(localOnly)),
            JSONMember("insert_only", .bool(insertOnly)),
            JSONMember("include_metadata", .bool(trackMetadata)),
            JSONMember("ignore_empty_update", .bool(ignoreEmptyUpdates)),
        ]
        if let previous = trackPreviousValues {
            let columns = previous.columnFilter.map { JSON.array($0.map { .string($0) }) }
            members.append(JSONMember("include_old", columns ?? .bool(true)))
            members.append(JSONMember("include_old_only_when_changed", .bool(previous.onlyWhenChanged)))
        }
        return members
    }
}
