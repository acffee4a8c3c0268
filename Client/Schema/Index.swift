/// An index over columns of a table.
public protocol IndexProtocol: Sendable {
    /// A name that is unique within the table.
    var name: String { get }
    /// The indexed columns, most significant first.
    var columns: [any IndexedColumnProtocol] { get }
}

/// One column within an index.
public protocol IndexedColumnProtocol: Sendable {
    /// The name of the column.
    var column: String { get }
    /// Whether the index ascends in this column.
    var ascending: Bool { get }
}

/// An index over columns of a table.
public struct Index: IndexProtocol {
    /// A name that is unique within the table.
    public let name: String
    /// The indexed columns, most significant first.
    public let columns: [any IndexedColumnProtocol]

    /// Creates an index over columns in this order.
    public init(name: String, columns: [any IndexedColumnProtocol]) {
        self.name = name
        self.columns = columns
    }

    /// Creates an index over columns in this order.
    public init(name: String, _ columns: any IndexedColumnProtocol...) {
        self.init(name: name, columns: columns)
    }

    /// Creates an index that ascends in every column.
    public static func ascending(name: String, columns: [String]) -> Index {
        Index(name: name, columns: columns.map { IndexedColumn.ascending($0) })
    }

    /// Creates an ascending index over one column.
    public static func ascending(name: String, column: String) -> Index {
        ascending(name: name, columns: [column])
    }
}

/// One column within an index.
public struct IndexedColumn: IndexedColumnProtocol {
    /// The name of the column.
    public let column: String
    /// Whether the index ascends in this column.
    public let ascending: Bool

    /// Creates a column of an index.
    public init(column: String, ascending: Bool = true) {
        self.column = column
        self.ascending = ascending
    }

    /// Creates a column in which the index ascends.
    public static func ascending(_ column: String) -> IndexedColumn {
        IndexedColumn(column: column, ascending: true)
    }

    /// Creates a column in which the index descends.
    public static func descending(_ column: String) -> IndexedColumn {
        IndexedColumn(column: column, ascending: false)
    }
}
