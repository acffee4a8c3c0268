import PowerSyncWire

/// The head of an answer, recorded or received, with the body if it was read.
package struct RecordedAnswer: Sendable {
    /// The status.
    package var status: Int
    /// The header fields, names in lower case.
    package var headers: [String: String]
    /// The body: JSON, or the text of what is none, or `(stream)`.
    package var body: JSON?

    /// Makes an answer of its parts.
    package init(status: Int, headers: [String: String], body: JSON? = nil) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// Reads an answer of a recording.
    ///
    /// - Parameter json: an object with `status`, `headers` and perhaps `body`.
    /// - Throws: `StackError` with `.file` for another shape.
    package init(_ json: JSON) throws(StackError) {
        guard let status = json["status"]?.int64Value, let headers = json["headers"]?.objectMembers else {
            throw StackError(.file, "an answer needs \"status\" and \"headers\"")
        }
        self.status = Int(status)
        self.headers = [:]
        for header in headers { self.headers[header.name.lowercased()] = header.value.stringValue }
        body = json["body"]
    }

    /// The header fields that say something about the connection or the time alone.
    private static let incomparable: Set = ["date", "connection", "keep-alive"]

    /// The header fields that say how the body is to be read: the real service sent none that was not recorded.
    private static let describing = ["content-encoding", "content-type", "transfer-encoding"]

    /// Returns where a received head differs from a recorded one, whose fields are those that count.
    ///
    /// - Parameters:
    ///   - received: what the service under test answered.
    ///   - withLength: whether the length of the body counts, too.
    /// - Returns: one text for each difference.
    package func differences(from received: RecordedAnswer, withLength: Bool) -> [String] {
        var result: [String] = []
        if status != received.status {
            result.append("status \(received.status), recorded \(status)")
        }
        // RFC 9110 8.6 forbids the length in a 204, in which the real service has it.
        let comparesLength = withLength && status != 204
        for (name, value) in headers.sorted(by: { $0.key < $1.key })
        where !Self.incomparable.contains(name) && (comparesLength || name != "content-length") {
            let other = received.headers[name]
            guard other.map(ExactText.init) != ExactText(value) else { continue }
            result.append("header \(name): \(other ?? "none"), recorded \(value)")
        }
        for name in Self.describing where headers[name] == nil {
            guard let other = received.headers[name] else { continue }
            result.append("header \(name): \(other), recorded none")
        }
        return result
    }
}
