import CPowerSyncSQLite

/// Tells SQLite to copy bound memory before the call returns (SQLITE_TRANSIENT, which Swift cannot import).
let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

/// A valid address for text of no bytes; a null pointer would bind NULL.
///
/// Safe because it points into a string literal's static storage, which nobody writes or frees.
nonisolated(unsafe) let emptyText: UnsafePointer<CChar> = {
    let text: StaticString = ""
    return UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
}()

/// Gives SQLite a text as a function's result.
func setResult(_ context: OpaquePointer, text: String) {
    var text = text
    text.withUTF8 { utf8 in
        let start = UnsafeRawPointer(utf8.baseAddress)?.assumingMemoryBound(to: CChar.self)
        sqlite3_result_text64(
            context, start ?? emptyText, UInt64(utf8.count), transient, UInt8(SQLITE_UTF8))
    }
}

/// Gives SQLite a text in UTF-8 as a function's result.
func setResult(_ context: OpaquePointer, utf8 bytes: [UInt8]) {
    bytes.withUnsafeBytes { buffer in
        let start = buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
        sqlite3_result_text64(
            context, start ?? emptyText, UInt64(buffer.count), transient, UInt8(SQLITE_UTF8))
    }
}

/// Copies a text into memory that SQLite frees, for `sqlite3_vtab.zErrMsg`.
func sqliteCopy(_ text: String) -> UnsafeMutablePointer<CChar>? {
    let bytes = Array(text.utf8) + [0]
    guard let memory = sqlite3_malloc64(UInt64(bytes.count)) else { return nil }
    memory.copyMemory(from: bytes, byteCount: bytes.count)
    return memory.assumingMemoryBound(to: CChar.self)
}

/// Reads a value passed to a function or a virtual table.
func value(of pointer: OpaquePointer?) -> SQLiteValue {
    switch sqlite3_value_type(pointer) {
    case SQLITE_INTEGER: return .integer(sqlite3_value_int64(pointer))
    case SQLITE_FLOAT: return .real(sqlite3_value_double(pointer))
    case SQLITE_TEXT: return .text(text(of: pointer) ?? "")
    case SQLITE_BLOB:
        guard let start = sqlite3_value_blob(pointer) else { return .blob([]) }
        return .blob([UInt8](UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(pointer)))))
    default: return .null
    }
}

/// Reads a passed value as text, nil for NULL.
func text(of pointer: OpaquePointer?) -> String? {
    guard let start = sqlite3_value_text(pointer) else { return nil }
    let count = Int(sqlite3_value_bytes(pointer))
    return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
}

/// Lends the bytes of a passed value as text, nil for NULL; SQLite's own memory, which goes with the call.
func withText<Result, Failure: Error>(
    of pointer: OpaquePointer?, _ body: (UnsafeBufferPointer<UInt8>?) throws(Failure) -> Result
) throws(Failure) -> Result {
    guard let start = sqlite3_value_text(pointer) else { return try body(nil) }
    return try body(UnsafeBufferPointer(start: start, count: Int(sqlite3_value_bytes(pointer))))
}

/// Returns the code and text by which an error of a Swift callback reaches SQL.
func report(_ error: any Error) -> (code: Int32, message: String) {
    if let error = error as? SQLiteError { return (error.extendedCode, error.message) }
    if error is CancellationError { return (SQLITE_INTERRUPT, "cancelled") }
    return (SQLITE_ERROR, String(describing: error))
}
