/// Calls `body` with the strings as an array of C strings, nil staying nil; the pointers end with the call.
///
/// The strings must hold no NUL character: callers refuse it, because C would cut the text there in silence.
func withCStrings<Result>(
    _ strings: [String?], _ body: (UnsafeBufferPointer<UnsafePointer<CChar>?>) throws -> Result
) rethrows -> Result {
    var bytes: [UInt8] = []
    var offsets: [Int?] = []
    offsets.reserveCapacity(strings.count)
    for string in strings {
        guard let string else {
            offsets.append(nil)
            continue
        }
        offsets.append(bytes.count)
        bytes.append(contentsOf: string.utf8)
        bytes.append(0)
    }
    return try bytes.withUnsafeBytes { raw in
        let base = raw.assumingMemoryBound(to: CChar.self).baseAddress
        let pointers = offsets.map { offset in offset.flatMap { base?.advanced(by: $0) } }
        return try pointers.withUnsafeBufferPointer(body)
    }
}

/// Throws `invalidInput` if the text has a NUL character, with the SQLSTATE the server has for it (backend 2.4).
func refuseNUL(_ text: String, _ what: String) throws(PostgresError) {
    var text = text
    // In the buffer: a view of the text asks for each byte where it lies.
    guard text.withUTF8({ $0.contains(0) }) else { return }
    throw PostgresError.nul(in: what)
}

extension PostgresError {
    /// The error of a text with a NUL character.
    static func nul(in what: String) -> PostgresError {
        PostgresError(
            .invalidInput, "\(what) has a NUL character, which Postgres cannot store", sqlstate: "22021")
    }
}
