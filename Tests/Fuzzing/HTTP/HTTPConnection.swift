import PowerSyncHTTP

/// One request that was read to its end.
struct ReadRequest: Equatable {
    struct Field: Equatable {
        let name: [UInt8]
        let value: [UInt8]
    }

    let method: [UInt8]
    let target: [UInt8]
    let path: [UInt8]
    let query: [String]
    let fields: [Field]
    let minorVersion: Int
    let framing: HTTPRequestHead.Framing
    let keepsAlive: Bool
    let expectsContinue: Bool
    var body: [UInt8] = []

    init(_ head: HTTPRequestHead) {
        method = Array(head.request.method.utf8)
        target = Array(head.request.target.utf8)
        path = Array(head.request.path.utf8)
        query = head.request.query.flatMap { [$0.name, $0.value] }
        fields = head.request.fields.map { Field(name: Array($0.name.utf8), value: Array($0.value.utf8)) }
        minorVersion = head.minorVersion
        framing = head.framing
        keepsAlive = head.keepsAlive
        expectsContinue = head.expectsContinue
    }

    /// The bytes of a request that says the same.
    func written() -> [UInt8] {
        let end = Array("\r\n".utf8)
        var bytes = method + [0x20] + target + Array(" HTTP/1.\(minorVersion)\r\n".utf8)
        for field in fields { bytes += field.name + Array(": ".utf8) + field.value + end }
        bytes += end
        guard framing == .chunked else { return bytes + body }
        if !body.isEmpty { bytes += Array("\(String(body.count, radix: 16))\r\n".utf8) + body + end }
        return bytes + Array("0\r\n\r\n".utf8)
    }
}

/// What the parser says of the bytes of one connection.
struct HTTPConnection: Equatable {
    private(set) var requests: [ReadRequest] = []
    private(set) var error: HTTPError?
    private(set) var isIdle = false
    /// The request whose body is not complete, and what has not been used up.
    private var partial: ReadRequest?
    private var pendingBytes = 0

    /// Reads chunks one after the other as a server does.
    init(reading chunks: [[UInt8]], limits: HTTPLimits, bodyLimit: Int) {
        var parser = HTTPRequestParser(limits: limits)
        do throws(HTTPError) {
            for chunk in chunks {
                parser.append(chunk)
                while try takeRequest(&parser, bodyLimit) {}
                parser.releaseMemory()
            }
            isIdle = parser.isIdle
            pendingBytes = parser.pendingBytes
        } catch {
            self.error = error
            partial = nil
        }
    }

    private mutating func takeRequest(
        _ parser: inout HTTPRequestParser, _ bodyLimit: Int
    ) throws(HTTPError) -> Bool {
        if partial == nil { partial = try parser.nextHead().map(ReadRequest.init) }
        guard var request = partial.take() else { return false }
        let isComplete = try parser.takeBody(into: &request.body, limit: bodyLimit)
        if isComplete { requests.append(request) } else { partial = request }
        return isComplete
    }
}
