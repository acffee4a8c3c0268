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
        let text = Self.trimmed(String(decoding: line, as: UTF8.self)[...])
        if text.isEmpty {
            guard let head = current, head.status >= 200 else {
                current = nil
                return nil
            }
            isComplete = true
            return head
        }
        if text.hasPrefix("HTTP/") {
            let status = text.split(separator: " ", maxSplits: 2).dropFirst().first.flatMap { Int($0) }
            current = HTTPHead(status: status ?? 0, fields: [:])
        } else if let colon = text.firstIndex(of: ":") {
            current?.fields.append(
                String(text[..<colon]), String(Self.trimmed(text[text.index(after: colon)...])))
        }
        return nil
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text
        // CR LF is one character of Swift, hence the test for white space instead of single code units.
        while let first = text.first, first.isWhitespace { text.removeFirst() }
        while let last = text.last, last.isWhitespace { text.removeLast() }
        return text
    }
}
