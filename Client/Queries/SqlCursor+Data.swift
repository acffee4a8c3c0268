#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A cursor that knows the bytes of its columns; others, which an app makes for its tests, know their texts alone.
protocol ByteCursor {
    /// The bytes of a column: of a blob as they are, of all else those of its text; nil if it is NULL or out of range.
    func bytes(index: Int) -> Data?
}

extension SqlCursor {
    /// Returns the column as bytes: of a blob as they are, of all else those of its text in UTF-8.
    public func getData(index: Int) throws(SqlCursorError) -> Data {
        if let data = getDataOptional(index: index) { return data }
        // It knows best how it calls what is missing.
        return Data(try getString(index: index).utf8)
    }

    /// Returns the column as bytes; nil if it is NULL or out of range.
    public func getDataOptional(index: Int) -> Data? {
        if let cursor = self as? any ByteCursor { return cursor.bytes(index: index) }
        return getStringOptional(index: index).map { Data($0.utf8) }
    }

    /// Returns the named column as bytes; throws if it is unknown or NULL.
    public func getData(name: String) throws -> Data {
        guard let data = try getDataOptional(name: name) else { throw SqlCursorError.nullValueFound(name) }
        return data
    }

    /// Returns the named column as bytes, nil if NULL; throws if it is unknown.
    public func getDataOptional(name: String) throws -> Data? {
        guard let index = columnNames[name] else { throw SqlCursorError.columnNotFound(name) }
        return getDataOptional(index: index)
    }
}
