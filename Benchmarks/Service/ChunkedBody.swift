/// Takes a body in chunks apart (RFC 9112 7.1), wherever its bytes were cut.
struct ChunkedBody {
    private enum Place {
        /// In the line that says how long the next chunk is, with what was read of it.
        case size(Int, digits: Int)
        /// In a chunk of which so many bytes are missing.
        case chunk(Int)
        /// In the end of a chunk's line, of which so many bytes are missing.
        case end(Int)
        /// Behind the last chunk.
        case over
    }

    private var place = Place.size(0, digits: 0)

    /// Whether the last chunk has come.
    var isOver: Bool { if case .over = place { true } else { false } }

    /// Takes the next bytes of the connection.
    ///
    /// - Parameters:
    ///   - bytes: the bytes.
    ///   - body: gets what they hold of the body.
    /// - Throws: `BenchmarkError` for what is no body in chunks.
    mutating func take(_ bytes: ArraySlice<UInt8>, into body: inout [UInt8]) throws(BenchmarkError) {
        var rest = bytes
        while !rest.isEmpty {
            switch place {
            case .size(let size, let digits):
                place = try Self.size(size, digits, rest.removeFirst())
            case .chunk(let missing):
                let part = rest.prefix(missing)
                body += part
                rest = rest.dropFirst(part.count)
                place = part.count == missing ? .end(2) : .chunk(missing - part.count)
            case .end(let missing):
                let expected = UInt8(ascii: missing == 2 ? "\r" : "\n")
                guard rest.removeFirst() == expected else { throw Self.error }
                place = missing == 2 ? .end(1) : .size(0, digits: 0)
            case .over: return
            }
        }
    }

    /// Reads a byte of the line that says how long the next chunk is; no server here writes extensions.
    private static func size(_ size: Int, _ digits: Int, _ byte: UInt8) throws(BenchmarkError) -> Place {
        switch byte {
        case UInt8(ascii: "\r"): return .size(size, digits: digits)
        case UInt8(ascii: "\n"):
            guard digits > 0 else { throw error }
            return size == 0 ? .over : .chunk(size)
        default:
            guard digits < 8, let digit = Character(UnicodeScalar(byte)).hexDigitValue else { throw error }
            return .size(size << 4 | digit, digits: digits + 1)
        }
    }

    private static var error: BenchmarkError { BenchmarkError("the body is not in chunks as it should be") }
}
