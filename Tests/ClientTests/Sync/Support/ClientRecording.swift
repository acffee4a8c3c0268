import PowerSyncTestSupport
import PowerSyncWire

/// What the official Node SDK did in one situation, as it is expected of this client (Tests/Fixtures/client/README.md).
struct ClientRecording {
    /// A request in every respect that two clients can be compared in.
    struct Request: Sendable, Equatable, CustomStringConvertible {
        let method: String
        /// The path with its query; for any client id it says CLIENT.
        let path: String
        let authorization: String?
        /// The body, whose members are in order of their names, without those that are not compared.
        let body: JSON?

        init(method: String, path: String, authorization: String? = nil, body: JSON? = nil) {
            let parts = path.split(separator: "client_id=")
            self.method = method
            self.path = parts.count == 2 ? "\(parts[0])client_id=CLIENT" : path
            self.authorization = authorization
            self.body = body?.compared
        }

        var description: String { "\(method) \(path) \(authorization ?? "-") \(body?.text ?? "-")" }
    }

    /// A row of the table of all situations.
    struct Row: Sendable, Equatable {
        let id: String
        let body: String?
    }

    /// The status at the end.
    struct Status: Equatable {
        var connected: Bool
        var connecting: Bool
        var hasSynced: Bool?
        var hasDownloadError: Bool
        var hasUploadError: Bool
    }

    /// Something that was seen from outside.
    enum Event {
        case connect
        /// A local transaction.
        case write([String])
        case request(Request)
        /// A checkpoint was applied.
        case checkpoint
        /// The app saw other rows than before.
        case rows([Row])

        var madeRequest: Request? { if case .request(let request) = self { request } else { nil } }
        var shownRows: [Row]? { if case .rows(let rows) = self { rows } else { nil } }
        var isCheckpoint: Bool { if case .checkpoint = self { true } else { false } }
    }

    /// Something that was seen, and when.
    struct Moment {
        let time: Duration
        let event: Event
    }

    /// What the service, the token endpoint and the backend did.
    let script: JSON
    /// What happened and when, in this order.
    private(set) var moments: [Moment] = []
    /// Whether everything comes when it came to the reference.
    private(set) var isTimed = true
    /// For each connection whether the client closed it; nil if the service did.
    private(set) var closings: [Bool?] = []
    private(set) var status: Status
    let rows: [Row]
    let queued: Int

    /// Reads a recording and changes what this client does otherwise: the column "ours" of the README.
    init(_ file: String) throws {
        let json = try JSON.parse(try Repository.fixture("client/\(file)"))
        script = json["script"] ?? .null
        // What is skipped, or applied once, leaves the plain case.
        let isPlain = ["operations-sent-twice.json", "unknown-key-beside-the-line.json"].contains(file)
        let seen = try isPlain ? JSON.parse(Repository.fixture("client/normal.json")) : json
        let end = seen["final"] ?? .null
        status = Status(end["status"] ?? .null)
        rows = Self.rows(end["rows"])
        queued = Int(end["queue"]?.int64Value ?? -1)
        var requests = (seen["requests"]?.arrayValue ?? []).map { RecordedRequest($0) }
        switch file {
        case "token-expires-soon.json":
            // Credentials are fetched once.
            requests.remove(at: 3)
            requests[3].use(token: 2)
        case "write-while-disconnected.json":
            // Which of stream and upload comes first is chance for the reference; here the upload waits for the stream.
            requests.swapAt(1, 3)
            requests[1].use(token: 1)
            requests[3].use(token: 2)
            requests[4].use(token: 1)
        case "checksum-mismatch-always.json":
            // The error is shown, and the delay grows.
            status.hasDownloadError = true
            isTimed = false
        case "write-checkpoint-fails-twice.json":
            // The error goes when it works.
            status.hasUploadError = false
        default: break
        }
        closings = requests.filter { $0.request.path == "/sync/stream" && $0.answer == 200 }
            .map(\.isClosedByClient)
        // Where requests were put in another order the times keep theirs.
        let times = requests.map(\.time).sorted()
        moments = Self.ordered(
            zip(times, requests).map { Moment(time: $0, event: .request($1.request)) }
                + Self.moments(ofApp: seen["client"], script))
        let first = moments.firstIndex { $0.event.madeRequest != nil } ?? 0
        moments.insert(Moment(time: moments[first].time, event: .connect), at: first)
        guard script["offline"]?.boolValue == true else { return }
        let write = Moment(time: moments[0].time, event: .write(Self.statements(script["write"])))
        moments.insert(write, at: 1)
    }

    /// The requests.
    var requests: [Request] { moments.compactMap(\.event.madeRequest) }

    /// When they were made.
    var requestTimes: [Duration] { moments.filter { $0.event.madeRequest != nil }.map(\.time) }

    /// What the app saw, one after the other.
    var shown: [[Row]] { moments.compactMap(\.event.shownRows) }

    /// How many checkpoints were applied.
    var checkpoints: Int { moments.count { $0.event.isCheckpoint } }

    /// What a connection gets; the last one repeats.
    func connection(_ index: Int) -> JSON {
        let connections = script["stream"]?.arrayValue ?? []
        return connections.isEmpty ? .null : connections[min(index, connections.count - 1)]
    }

    /// The statuses of a list of the script, in turn.
    func statuses(_ name: String) -> [Int] {
        (script[name]?.arrayValue ?? []).compactMap { $0.int64Value.map { Int($0) } }
    }

    // MARK: Reading

    private struct RecordedRequest {
        let time: Duration
        var request: Request
        let answer: Int
        let isClosedByClient: Bool?

        init(_ json: JSON) {
            time = ClientRecording.time(of: json)
            request = Request(
                method: json["method"]?.stringValue ?? "", path: json["path"]?.stringValue ?? "",
                authorization: json["headers"]?["authorization"]?.stringValue, body: json["body"])
            answer = Int(json["answer"]?.int64Value ?? 0)
            let isEndedByService = json["ended_ms"] != nil || json["cut_ms"] != nil
            isClosedByClient = isEndedByService ? nil : json["client_closed_ms"] != nil
        }

        mutating func use(token: Int) {
            let scheme = request.authorization?.split(separator: " ").first ?? ""
            request = Request(
                method: request.method, path: request.path, authorization: "\(scheme) token-\(token)",
                body: request.body)
        }
    }

    private static func moments(ofApp entries: JSON?, _ script: JSON) -> [Moment] {
        var moments: [Moment] = []
        var last: [Row]?
        for entry in entries?.arrayValue ?? [] {
            let time = Self.time(of: entry)
            if entry["event"] == .string("checkpoint") {
                moments.append(Moment(time: time, event: .checkpoint))
            } else if entry["event"] == .string("watch") {
                let rows = Self.rows(entry["rows"])
                // A watch may tell the same again after a write.
                if rows != last { moments.append(Moment(time: time, event: .rows(rows))) }
                last = rows
            } else if let name = entry["did"]?.stringValue {
                moments.append(Moment(time: time, event: .write(statements(script[name]))))
            }
        }
        return moments
    }

    private static func ordered(_ moments: [Moment]) -> [Moment] {
        moments.enumerated()
            .sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }
            .map(\.element)
    }

    private static func time(of json: JSON) -> Duration { .milliseconds(json["ms"]?.int64Value ?? 0) }

    private static func rows(_ json: JSON?) -> [Row] {
        (json?.arrayValue ?? []).map {
            Row(id: $0["id"]?.stringValue ?? "", body: $0["body"]?.stringValue)
        }
    }

    private static func statements(_ write: JSON?) -> [String] {
        (write?["tx"]?.arrayValue ?? []).compactMap { $0.arrayValue?.first?.stringValue }
    }
}

extension ClientRecording.Status {
    fileprivate init(_ json: JSON) {
        connected = json["connected"]?.boolValue ?? false
        connecting = json["connecting"]?.boolValue ?? false
        hasSynced = json["hasSynced"]?.boolValue
        hasDownloadError = json["downloadError"]?.stringValue != nil
        hasUploadError = json["uploadError"]?.stringValue != nil
    }
}

extension JSON {
    /// What two clients send alike: without what each may say of itself, members in order of their names.
    fileprivate var compared: JSON {
        switch self {
        case .object(let members):
            .object(
                members.filter { !["binary_data", "app_metadata", "client_id"].contains($0.name) }
                    .map { JSONMember($0.name, $0.value.compared) }.sorted { $0.name < $1.name })
        case .array(let values): .array(values.map(\.compared))
        default: self
        }
    }
}
