/// Turns the bytes of one connection into requests, one after another (RFC 9112).
///
/// Strict: what two readers could understand differently is refused, because that is how requests are smuggled
/// past a proxy. After an error the connection has no meaning any more; answer and close it.
package struct HTTPRequestParser: Sendable {
    private enum State {
        case requestLine(skippedBlankLine: Bool)
        case fields
        case body(HTTPBodyDecoder)
    }

    private struct PartialHead {
        var method = ""
        var target = ""
        var minorVersion = 1
        var fields = HTTPFields()
        var bytes = 0
    }

    private let limits: HTTPLimits
    private var input = InputBuffer()
    private var state = State.requestLine(skippedBlankLine: false)
    /// The head whose fields are being read.
    private var partial = PartialHead()

    /// Creates a parser that has seen nothing.
    package init(limits: HTTPLimits = HTTPLimits()) { self.limits = limits }

    /// Whether the last request is complete and no byte of a next one has arrived.
    package var isIdle: Bool {
        guard case .requestLine = state else { return false }
        return input.count == 0
    }

    /// Whether the body of the last request still has bytes to come or to be taken.
    package var isInBody: Bool {
        if case .body = state { return true }
        return false
    }

    /// The number of bytes that have arrived and are not used up.
    package var pendingBytes: Int { input.count }

    /// The memory that is kept for what arrives, in bytes, so that tests can see that it is given back.
    var heldBytes: Int { input.bytes.capacity }

    /// Adds bytes that have arrived.
    package mutating func append(_ bytes: UnsafeRawBufferPointer) { input.append(bytes) }

    /// Adds bytes that have arrived.
    package mutating func append(_ bytes: [UInt8]) { bytes.withUnsafeBytes { input.append($0) } }

    /// Gives back memory while the connection is parked.
    package mutating func releaseMemory() { input.releaseIfEmpty() }

    /// Returns the next request once its head is complete; nil when more bytes are needed.
    ///
    /// The body of the request before it must have been taken.
    ///
    /// - Throws: When the bytes break a rule or a limit.
    package mutating func nextHead() throws(HTTPError) -> HTTPRequestHead? {
        while true {
            switch state {
            case .body: preconditionFailure("the body of the request before is still to be taken")
            case .requestLine(let skippedBlankLine):
                guard
                    let line = try nextLine(limits.targetBytes + 64, .targetTooLong, "the target is too long")
                else { return nil }
                if line.isEmpty, !skippedBlankLine {
                    // RFC 9112 2.2: some clients send a line end too many after a body.
                    state = .requestLine(skippedBlankLine: true)
                } else {
                    partial = try requestLine(input.bytes[line])
                    state = .fields
                }
            case .fields:
                guard
                    let line = try nextLine(
                        limits.fieldBytes - partial.bytes + 2, .fieldsTooLarge,
                        "the header fields are too long")
                else { return nil }
                if line.isEmpty { return try finish() }
                partial.bytes += line.count + 2
                if partial.fields.count == limits.fieldCount {
                    throw HTTPError(.fieldsTooLarge, "too many header fields")
                }
                let field = try FieldLine.parse(input.bytes[line])
                partial.fields.append(field.name, field.value)
            }
        }
    }

    /// Adds what has arrived of the body to other bytes.
    ///
    /// - Parameters:
    ///   - result: What the bytes are added to.
    ///   - limit: The most bytes the whole body may have.
    /// - Returns: Whether the body is complete.
    /// - Throws: `bodyTooLarge` as soon as an announced length shows it, and `malformed`.
    package mutating func takeBody(into result: inout [UInt8], limit: Int) throws(HTTPError) -> Bool {
        guard case .body(var decoder) = state else { return true }
        let isComplete = try decoder.decode(&input, into: &result, limit: limit)
        state = isComplete ? .requestLine(skippedBlankLine: false) : .body(decoder)
        // The next request may be long in coming, and so may the end of the answer to this one.
        if isComplete { input.releaseIfEmpty() }
        return isComplete
    }

    private mutating func nextLine(
        _ limit: Int, _ code: HTTPError.Code, _ message: String
    ) throws(HTTPError) -> Range<Int>? {
        try input.nextLine(limit: limit, orThrow: HTTPError(code, message))
    }

    private mutating func finish() throws(HTTPError) -> HTTPRequestHead {
        let head = partial
        partial = PartialHead()
        let request = HTTPRequest(method: head.method, target: head.target, fields: head.fields)
        let finished = try HTTPRequestHead(request: request, minorVersion: head.minorVersion)
        state =
            finished.framing == .none
            ? .requestLine(skippedBlankLine: false)
            : .body(HTTPBodyDecoder(finished.framing, limits: limits))
        return finished
    }

    /// RFC 9112 3: method, target and version, with one space between them and none elsewhere.
    private func requestLine(_ line: ArraySlice<UInt8>) throws(HTTPError) -> PartialHead {
        let space = UInt8(ascii: " ")
        guard let first = line.firstIndex(of: space), let last = line.lastIndex(of: space), first < last
        else {
            throw HTTPError(.malformed, "the request line has not three parts")
        }
        let (method, target, version) = (line[..<first], line[(first + 1)..<last], line[(last + 1)...])
        guard !method.isEmpty, method.count <= 32, method.allSatisfy(FieldLine.isToken) else {
            throw HTTPError(.malformed, "the method is no token")
        }
        if target.count > limits.targetBytes { throw HTTPError(.targetTooLong, "the target is too long") }
        guard !target.isEmpty, target.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") }) else {
            throw HTTPError(.malformed, "the target holds what no target can")
        }
        return PartialHead(
            method: String(decoding: method, as: UTF8.self), target: String(decoding: target, as: UTF8.self),
            minorVersion: try minorVersion(version))
    }

    private func minorVersion(_ version: ArraySlice<UInt8>) throws(HTTPError) -> Int {
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        guard version.count == 8, version.starts(with: "HTTP/".utf8), let minor = version.last,
            digits.contains(minor), digits.contains(version[version.startIndex + 5]),
            version[version.startIndex + 6] == UInt8(ascii: ".")
        else { throw HTTPError(.malformed, "the version is none") }
        guard version[version.startIndex + 5] == UInt8(ascii: "1") else {
            throw HTTPError(.versionNotSupported, "this server speaks HTTP/1.1")
        }
        return minor == UInt8(ascii: "0") ? 0 : 1
    }
}
