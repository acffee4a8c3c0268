import PowerSyncSQLite

/// Joins objects by their text, as `powersync_json_merge` does (client-core 4); equal keys stay, in their order.
struct ObjectMerge {
    private var bytes: [UInt8] = [UInt8(ascii: "{")]

    /// The object so far, in UTF-8.
    var result: [UInt8] { bytes + [UInt8(ascii: "}")] }

    /// Adds the members of an object.
    ///
    /// - Parameter object: its text; nil for none.
    /// - Throws: code 3091 for what does not begin and end like an object.
    mutating func add(_ object: UnsafeBufferPointer<UInt8>?) throws(SQLiteError) {
        guard let object, object.count >= 2, object.first == UInt8(ascii: "{"),
            object.last == UInt8(ascii: "}")
        else { throw CoreError.argument("Expected json object") }
        if object.count == 2 { return }
        if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
        bytes.append(contentsOf: UnsafeBufferPointer(rebasing: object[1..<object.count - 1]))
    }
}
