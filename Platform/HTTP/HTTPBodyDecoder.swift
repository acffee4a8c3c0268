/// Takes one request body out of the bytes of a connection.
struct HTTPBodyDecoder: Sendable {
    private enum State {
        case length(Int)
        case chunkLine
        case chunk(Int)
        case chunkEnd
        case trailers(bytes: Int, count: Int)
    }

    private let limits: HTTPLimits
    private var state: State
    /// Bytes of the body decoded so far.
    private var total = 0
    /// Bytes of chunk extensions and superfluous zeros so far, which could else outweigh the body without limit.
    private var overhead = 0

    init(_ framing: HTTPRequestHead.Framing, limits: HTTPLimits) {
        self.limits = limits
        switch framing {
        case .none: state = .length(0)
        case .length(let length): state = .length(length)
        case .chunked: state = .chunkLine
        }
    }

    /// Adds what has arrived to the result and says whether the body is complete.
    mutating func decode(
        _ input: inout InputBuffer, into result: inout [UInt8], limit: Int
    ) throws(HTTPError) -> Bool {
        while true {
            switch state {
            case .length(let left):
                try check(left, limit)
                let taken = input.take(left, into: &result)
                total += taken
                state = .length(left - taken)
                return taken == left
            case .chunkLine:
                guard let line = try nextLine(&input, 1 << 10) else { return false }
                let size = try chunkSize(input.bytes[line])
                try check(size, limit)
                state = size == 0 ? .trailers(bytes: 0, count: 0) : .chunk(size)
            case .chunk(let left):
                let taken = input.take(left, into: &result)
                total += taken
                state = taken == left ? .chunkEnd : .chunk(left - taken)
                if taken < left { return false }
            case .chunkEnd:
                guard let line = try nextLine(&input, 2) else { return false }
                if !line.isEmpty { throw HTTPError(.malformed, "a chunk is longer than it says") }
                state = .chunkLine
            case .trailers(let bytes, let count):
                let tooLarge = HTTPError(.fieldsTooLarge, "the trailer fields are too long")
                guard let line = try input.nextLine(limit: limits.fieldBytes - bytes + 2, orThrow: tooLarge)
                else {
                    return false
                }
                if line.isEmpty { return true }
                if count == limits.fieldCount { throw HTTPError(.fieldsTooLarge, "too many trailer fields") }
                // Checked and dropped: no handler here knows a trailer field (RFC 9112 7.1.2 allows it).
                _ = try FieldLine.parse(input.bytes[line])
                state = .trailers(bytes: bytes + line.count + 2, count: count + 1)
            }
        }
    }

    private func check(_ more: Int, _ limit: Int) throws(HTTPError) {
        guard more > limit - total else { return }
        throw HTTPError(.bodyTooLarge, "the body is longer than \(limit) bytes")
    }

    private func nextLine(_ input: inout InputBuffer, _ limit: Int) throws(HTTPError) -> Range<Int>? {
        try input.nextLine(
            limit: limit, orThrow: HTTPError(.malformed, "a chunk is not framed as it should be"))
    }

    /// RFC 9112 7.1: hexadecimal digits, then nothing or an extension, which is ignored.
    private mutating func chunkSize(_ line: ArraySlice<UInt8>) throws(HTTPError) -> Int {
        let digits = line.prefix { hexValue($0) != nil }
        let size = digits.drop { $0 == UInt8(ascii: "0") }
        let rest = line[digits.endIndex...]
        let afterBlanks = rest.drop(while: FieldLine.isBlank)
        guard !digits.isEmpty, size.count <= 15, rest.isEmpty || afterBlanks.first == UInt8(ascii: ";"),
            rest.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == UInt8(ascii: "\t") })
        else { throw HTTPError(.malformed, "a chunk has no proper size") }
        overhead += line.count - size.count
        if overhead > limits.fieldBytes { throw HTTPError(.malformed, "the chunk extensions are too long") }
        return size.reduce(0) { $0 << 4 | Int(hexValue($1) ?? 0) }
    }
}
