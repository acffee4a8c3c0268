import PowerSyncHTTP

/// The status line and header fields of an answer.
struct HTTPHead: Sendable {
    var status: Int
    var fields: HTTPFields
}

/// Puts the header lines that libcurl delivers one by one together; pure.
///
/// An interim answer (1xx) is dropped, and so are trailers: what follows the head is not the head.
struct HTTPHeadParser {
    private var current: HTTPHead?
    private var isComplete = false

    /// Takes a line with its line end.
    ///
    /// - Parameter line: one header line, the status line or the empty line at the end.
    /// - Returns: the head, when this line completes it.
    mutating func append(_ line: some Collection<UInt8>) -> HTTPHead? {
        guard !isComplete else { return nil }
        // By bytes: a colon and an accent behind it are one character, and so are CR and LF.
        let line = Self.trimmed(Array(line)[...])
        if line.isEmpty {
            guard let head = current, head.status >= 200 else {
                current = nil
                return nil
            }
            isComplete = true
            return head
        }
        if line.starts(with: "HTTP/".utf8) {
            let words = line.split(separator: UInt8(ascii: " "), maxSplits: 2)
            let status = words.dropFirst().first.flatMap { Int(String(decoding: $0, as: UTF8.self)) }
            current = HTTPHead(status: status ?? 0, fields: [:])
        } else if let colon = line.firstIndex(of: UInt8(ascii: ":")) {
            current?.fields.append(
                String(decoding: line[..<colon], as: UTF8.self),
                String(decoding: Self.trimmed(line[(colon + 1)...]), as: UTF8.self))
        }
        return nil
    }

    private static func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let isBlank: (UInt8) -> Bool = { " \t\r\n".utf8.contains($0) }
        let start = line.drop(while: isBlank)
        return start[..<(start.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? start.startIndex)]
    }
}
