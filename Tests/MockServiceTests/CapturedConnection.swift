import Foundation
import PowerSyncCompression
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// One connection between the official Node SDK and the real service, as it was captured.
struct CapturedConnection {
    /// Everything the SDK sent.
    let request: String
    /// The head of the answer: status line and fields.
    let head: String
    /// Everything behind the head, as it was sent.
    let body: [UInt8]

    /// Whether a stream was asked for.
    var isStream: Bool { request.hasPrefix("POST /sync/stream") }

    /// The connections of a capture, in order.
    static func all(of capture: String) throws -> [CapturedConnection] {
        let connections =
            try JSON.parse(Repository.fixture("service/captures/\(capture).json")).arrayValue ?? []
        return try connections.map { connection in
            var bytes: [String: [UInt8]] = [:]
            for part in connection.arrayValue ?? [] {
                let from = try #require(part["from"]?.stringValue)
                if let text = part["text"]?.stringValue { bytes[from, default: []] += Array(text.utf8) }
                if let base64 = part["base64"]?.stringValue {
                    bytes[from, default: []] += Array(try #require(Data(base64Encoded: base64)))
                }
            }
            let answer = try #require(bytes["server"])
            let end = try #require(answer.firstRange(of: Array("\r\n\r\n".utf8)))
            return CapturedConnection(
                request: String(decoding: try #require(bytes["client"]), as: UTF8.self),
                head: String(decoding: answer[..<end.lowerBound], as: UTF8.self),
                body: Array(answer[end.upperBound...]))
        }
    }

    /// The lines of a stream: chunks of one gzip member that holds BSON documents.
    func lines() throws -> [SyncLine] {
        var lines = BinaryLines()
        var rest = body[...]
        while let end = rest.firstRange(of: Array("\r\n".utf8)) {
            let size = try #require(Int(String(decoding: rest[..<end.lowerBound], as: UTF8.self), radix: 16))
            let chunk = rest[end.upperBound...].prefix(size)
            try lines.append(Array(chunk))
            rest = rest[(chunk.endIndex + 2)...]
        }
        return lines.lines
    }

    /// The request with other positions in its body, and the length that goes with them.
    func request(positions: [BucketRequest]) throws -> String {
        let parts = request.components(separatedBy: "\r\n\r\n")
        let body = try JSON.parse(parts[1])
        let buckets = positions.map { position in
            JSON.object([
                JSONMember("name", .string(position.name)),
                JSONMember("after", .string(String(position.after))),
            ])
        }
        let text = JSON.object(
            (body.objectMembers ?? []).map {
                $0.name == "buckets" ? JSONMember("buckets", .array(buckets)) : $0
            }
        ).text
        let head = parts[0].components(separatedBy: "\r\n").map {
            $0.hasPrefix("content-length:") ? "content-length: \(text.utf8.count)" : $0
        }
        return head.joined(separator: "\r\n") + "\r\n\r\n" + text
    }
}

/// Lines out of gzip and BSON.
struct BinaryLines {
    private(set) var lines: [SyncLine] = []
    private let decompressor = Decompressor(.gzip, limit: 1 << 20)
    private var splitter = DocumentSplitter(limit: 1 << 20)

    mutating func append(_ chunk: [UInt8]) throws {
        splitter.append(try decompressor.decompress(chunk))
        while let document = try splitter.next() { lines.append(try SyncLine(parsingBSON: document)) }
    }
}

/// Our answer to a captured stream request.
final class BinaryStream {
    let head: String
    private(set) var model: StreamModel
    private let client: RawClient
    private var binary = BinaryLines()
    private var taken = 0

    init(_ request: String, _ service: TestService, positions: [BucketRequest] = []) async throws {
        client = try RawClient(service.port, service.poller)
        try await client.send(request)
        head = try await client.response(toHead: true).head
        model = StreamModel(positions: positions)
    }

    /// Reads until a checkpoint is complete that is meant.
    func completes(_ isMeant: (StreamModel) -> Bool) async throws {
        while !model.isComplete || !isMeant(model) {
            try binary.append(try #require(try await client.chunkBytes()))
            for line in binary.lines[taken...] { model.take(line) }
            taken = binary.lines.count
        }
    }
}
