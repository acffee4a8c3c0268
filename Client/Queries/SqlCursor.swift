/// The columns of the row that a mapper is given; of no use once the mapper has returned.
///
/// Values are coerced as SQLite coerces columns: the text `'110'` read with `getInt` gives 110.
public protocol SqlCursor {
    /// Returns whether the column's whole number is not 0.
    func getBoolean(index: Int) throws(SqlCursorError) -> Bool
    /// Returns whether the column's whole number is not 0; nil if it is NULL or out of range.
    func getBooleanOptional(index: Int) -> Bool?
    /// Returns the column as a number.
    func getDouble(index: Int) throws(SqlCursorError) -> Double
    /// Returns the column as a number; nil if it is NULL or out of range.
    func getDoubleOptional(index: Int) -> Double?
    /// Returns the column as a whole number.
    func getInt(index: Int) throws(SqlCursorError) -> Int
    /// Returns the column as a whole number; nil if it is NULL or out of range.
    func getIntOptional(index: Int) -> Int?
    /// Returns the column as a whole number of 64 bits.
    func getInt64(index: Int) throws(SqlCursorError) -> Int64
    /// Returns the column as a whole number of 64 bits; nil if it is NULL or out of range.
    func getInt64Optional(index: Int) -> Int64?
    /// Returns the column as text; bytes of a blob are read as UTF-8 with replacement.
    func getString(index: Int) throws(SqlCursorError) -> String
    /// Returns the column as text; nil if it is NULL or out of range.
    func getStringOptional(index: Int) -> String?
    /// The number of columns.
    var columnCount: Int { get }
    /// The index of each column by its name; the last one wins where names repeat.
    var columnNames: [String: Int] { get }
}

extension SqlCursor {
    /// Returns the named column as a truth value; throws if it is unknown or NULL.
    public func getBoolean(name: String) throws -> Bool {
        try required(name, getBooleanOptional(index:))
    }

    /// Returns the named column as a truth value, nil if NULL; throws if it is unknown.
    public func getBooleanOptional(name: String) throws -> Bool? {
        getBooleanOptional(index: try index(of: name))
    }

    /// Returns the named column as a number; throws if it is unknown or NULL.
    public func getDouble(name: String) throws -> Double {
        try required(name, getDoubleOptional(index:))
    }

    /// Returns the named column as a number, nil if NULL; throws if it is unknown.
    public func getDoubleOptional(name: String) throws -> Double? {
        getDoubleOptional(index: try index(of: name))
    }

    /// Returns the named column as a whole number; throws if it is unknown or NULL.
    public func getInt(name: String) throws -> Int {
        try required(name, getIntOptional(index:))
    }

    /// Returns the named column as a whole number, nil if NULL; throws if it is unknown.
    public func getIntOptional(name: String) throws -> Int? {
        getIntOptional(index: try index(of: name))
    }

    /// Returns the named column as a whole number of 64 bits; throws if it is unknown or NULL.
    public func getInt64(name: String) throws -> Int64 {
        try required(name, getInt64Optional(index:))
    }

    /// Returns the named column as a whole number of 64 bits, nil if NULL; throws if it is unknown.
    public func getInt64Optional(name: String) throws -> Int64? {
        getInt64Optional(index: try index(of: name))
    }

    /// Returns the named column as text; throws if it is unknown or NULL.
    public func getString(name: String) throws -> String {
        try required(name, getStringOptional(index:))
    }

    /// Returns the named column as text, nil if NULL; throws if it is unknown.
    public func getStringOptional(name: String) throws -> String? {
        getStringOptional(index: try index(of: name))
    }

    private func index(of name: String) throws(SqlCursorError) -> Int {
        guard let index = columnNames[name] else { throw .columnNotFound(name) }
        return index
    }

    private func required<T>(_ name: String, _ value: (Int) -> T?) throws(SqlCursorError) -> T {
        guard let value = value(try index(of: name)) else { throw .nullValueFound(name) }
        return value
    }
}
