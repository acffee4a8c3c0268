import PowerSyncWire

/// A table of the schema, of either kind.
public protocol BaseTableProtocol: Sendable {
    /// The name of the table in the sync configuration.
    var name: String { get }
}

/// A table whose rows are kept as JSON and read through a view.
public protocol TableProtocol: BaseTableProtocol, TableOptionsProtocol {
    /// The columns besides `id`.
    var columns: [Column] { get }
    /// The indexes.
    var indexes: [Index] { get }
    /// The SQL name of the view, if it is not the table's.
    var viewNameOverride: String? { get }
    /// The SQL name of the view.
    var viewName: String { get }
}

/// A table whose rows are kept as JSON and read through a view.
///
/// ```swift
/// let notes = Table(
///     name: "notes", columns: [.text("text"), .integer("is_pinned"), .real("score")],
///     indexes: [
///         Index(name: "pinned", IndexedColumn.descending("is_pinned"), IndexedColumn.ascending("text"))
///     ],
///     trackMetadata: true, trackPreviousValues: TrackPreviousValuesOptions(columnFilter: ["text"]))
/// ```
public struct Table: TableProtocol, Encodable {
    /// The name of the table in the sync configuration.
    public let name: String
    /// The columns besides `id`.
    public let columns: [Column]
    /// The indexes.
    public let indexes: [Index]
    /// How local writes are treated.
    public let options: TableOptions
    /// The SQL name of the view, if it is not the table's.
    public let viewNameOverride: String?

    /// Whether rows stay on this device.
    public var localOnly: Bool { options.localOnly }
    /// Whether inserts are only queued for upload.
    public var insertOnly: Bool { options.insertOnly }
    /// Whether the view has a column `_metadata`.
    public var trackMetadata: Bool { options.trackMetadata }
    /// Whether the queue keeps the values before a write.
    public var trackPreviousValues: TrackPreviousValuesOptions? { options.trackPreviousValues }
    /// Whether an update that changes nothing is left out of the queue.
    public var ignoreEmptyUpdates: Bool { options.ignoreEmptyUpdates }
    /// The SQL name of the view.
    public var viewName: String { viewNameOverride ?? name }

    /// Creates a table.
    public init(
        name: String, columns: [Column], indexes: [Index] = [], localOnly: Bool = false,
        insertOnly: Bool = false, viewNameOverride: String? = nil, trackMetadata: Bool = false,
        trackPreviousValues: TrackPreviousValuesOptions? = nil, ignoreEmptyUpdates: Bool = false
    ) {
        self.name = name
        self.columns = columns
        self.indexes = indexes
        self.viewNameOverride = viewNameOverride
        options = TableOptions(
            localOnly: localOnly, insertOnly: insertOnly, trackMetadata: trackMetadata,
            trackPreviousValues: trackPreviousValues, ignoreEmptyUpdates: ignoreEmptyUpdates)
    }

    /// Encodes the table as it stands in the JSON of a schema.
    public func encode(to encoder: any Encoder) throws { try JsonValue(try json()).encode(to: encoder) }

    /// The table as the core reads it (client-api 1.10).
    ///
    /// - Throws: `PowerSyncError` if an index names a column that the table lacks.
    func json() throws -> JSON {
        var members = [JSONMember("name", .string(name))]
        if let viewNameOverride { members.append(JSONMember("view_name", .string(viewNameOverride))) }
        members.append(JSONMember("columns", .array(columns.map(\.json))))
        members.append(JSONMember("indexes", .array(try indexes.map { try json(of: $0) })))
        return .object(members + options.jsonMembers)
    }

    private func json(of index: Index) throws -> JSON {
        let columns = try index.columns.map { indexed -> JSON in
            guard let column = self.columns.first(where: { $0.name == indexed.column }) else {
                throw PowerSyncError(
                    .invalidArgument,
                    "Unserializable schema: Index \(index.name) references column \(indexed.column) "
                        + "which does not exist in \(name)")
            }
            return .object([
                JSONMember("name", .string(column.name)),
                JSONMember("ascending", .bool(indexed.ascending)),
                JSONMember("type", column.type.json),
            ])
        }
        return .object([JSONMember("name", .string(index.name)), JSONMember("columns", .array(columns))])
    }
}
