/// The bytes of an answer (RFC 9112).
package enum HTTPResponseEncoder {
    /// How the end of the body is marked.
    package enum Framing: Sendable, Equatable {
        /// There is none and nothing is said about it.
        case none
        /// By its length in bytes.
        case length(Int)
        /// By the last chunk.
        case chunked
        /// By the end of the connection, for clients of HTTP/1.0.
        case untilClose
    }

    /// Returns how the body of an answer to a request is framed.
    ///
    /// - Parameters:
    ///   - response: The answer.
    ///   - head: The request that it answers; nil when that could not be understood.
    /// - Returns: The framing.
    package static func framing(of response: HTTPResponse, to head: HTTPRequestHead?) -> Framing {
        // RFC 9110 8.6: no length in these.
        if response.status < 200 || response.status == 204 || response.status == 304 { return .none }
        switch response.body {
        case .empty: return .length(0)
        case .bytes(let bytes): return .length(bytes.count)
        case .stream: return head?.minorVersion == 0 ? .untilClose : .chunked
        case .sized(let length, _):
            precondition(length >= 0, "no body has a negative length")
            return .length(Int(length))
        }
    }

    /// Whether the bytes of the body follow the head.
    package static func sendsBody(_ response: HTTPResponse, to head: HTTPRequestHead?) -> Bool {
        framing(of: response, to: head) != .none && head?.request.method != "HEAD"
    }

    /// Returns the head of an answer, blank line included.
    ///
    /// Fields that only the server may set are left out of the answer's own, but for the length that a handler of
    /// HEAD announces and that of 0 with 204. The length of a sized body stands with 304, too. Line ends within a value become spaces, so that a value cannot start
    /// another field.
    ///
    /// - Parameters:
    ///   - response: The answer.
    ///   - framing: How its body ends.
    ///   - head: The request that it answers; nil when that could not be understood.
    ///   - keepsAlive: Whether the connection stays open afterwards.
    ///   - date: The moment, as `HTTPDate` writes it.
    /// - Returns: The bytes of the head.
    package static func head(
        _ response: HTTPResponse, framing: Framing, to head: HTTPRequestHead?, keepsAlive: Bool, date: String
    ) -> [UInt8] {
        var text = "HTTP/1.1 \(response.status) \(HTTPStatus.reason(response.status))\r\n"
        text.reserveCapacity(256)
        var announcedLength: String?
        for (name, value) in response.fields {
            switch name.asciiLowercased {
            case "connection", "transfer-encoding", "keep-alive", "date": continue
            case "content-length": announcedLength = value
            default:
                precondition(
                    !name.isEmpty && name.utf8.allSatisfy(FieldLine.isToken), "a field name is a token")
                text += name
                text += ": "
                text += oneLine(value)
                text += "\r\n"
            }
        }
        text += "date: "
        text += date
        text += "\r\n"
        switch framing {
        case .none:
            // RFC 9110 8.6 wants no length with 204. A handler may say 0, as many servers do: it misleads nobody.
            if response.status == 204, announcedLength == "0" { text += "content-length: 0\r\n" }
            // The same section allows the length that the answer to GET would have.
            if response.status == 304, case .sized(let length, _) = response.body {
                text += "content-length: \(length)\r\n"
            }
        case .untilClose: break
        case .length(let length):
            let isHead = head?.request.method == "HEAD"
            let announced = isHead ? announcedLength.flatMap { Int($0) } : nil
            text += "content-length: \(announced ?? length)\r\n"
        case .chunked: text += "transfer-encoding: chunked\r\n"
        }
        if !keepsAlive {
            text += "connection: close\r\n"
        } else if head?.minorVersion == 0 {
            text += "connection: keep-alive\r\n"
        }
        text += "\r\n"
        return Array(text.utf8)
    }

    /// Returns what stands before and after the bytes of a chunk, which must not be empty.
    package static func chunkLine(_ count: Int) -> [UInt8] {
        precondition(count > 0, "an empty chunk would end the body")
        return Array("\(String(count, radix: 16))\r\n".utf8)
    }

    /// The end of every chunk.
    package static let chunkEnd: [UInt8] = Array("\r\n".utf8)
    /// The end of a chunked body, without trailer fields.
    package static let lastChunk: [UInt8] = Array("0\r\n\r\n".utf8)
    /// The interim answer that asks for the body.
    package static let continueHead: [UInt8] = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

    private static func oneLine(_ value: String) -> String {
        let isControl: (UInt8) -> Bool = { $0 == 0 || $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }
        guard value.utf8.contains(where: isControl) else { return value }
        return String(decoding: value.utf8.map { isControl($0) ? UInt8(ascii: " ") : $0 }, as: UTF8.self)
    }
}
