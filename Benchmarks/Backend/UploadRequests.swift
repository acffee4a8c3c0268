import PowerSyncWire

/// Uploads over several connections as they are sent, all made before the first one is.
struct UploadRequests: Sendable {
    /// The id of the database that each user uploads from.
    static let client = "7d9e6a40-52cb-4c2f-9a3e-0f1b8c5d2e71"

    /// All requests, one behind the other.
    private(set) var bytes: [UInt8] = []
    /// Where each of them begins, and where the last one ends.
    private(set) var places = [0]
    /// How many connections there are.
    let connections: Int
    /// How many requests each has.
    let perConnection: Int
    private let port: Int

    /// Begins without requests; those of the first connection are added first, then those of the next.
    init(connections: Int, perConnection: Int, port: Int) {
        self.connections = connections
        self.perConnection = perConnection
        self.port = port
    }

    /// Whether all requests have been added.
    var isComplete: Bool { places.count == connections * perConnection + 1 }

    /// Adds a request with one transaction.
    ///
    /// - Parameters:
    ///   - operations: what it does; its number is that of its first operation.
    ///   - token: whose it is.
    mutating func add(_ operations: [UploadOperation], token: String) {
        let transaction = UploadTransaction(id: operations.first?.opID, operations: operations)
        let body = UploadRequest(clientID: Self.client, transactions: [transaction]).json.utf8
        let head = [
            "POST /api/data HTTP/1.1", "Host: 127.0.0.1:\(port)", "Authorization: Bearer \(token)",
            "Content-Type: application/json", "Content-Length: \(body.count)",
        ]
        bytes += Array((head.joined(separator: "\r\n") + "\r\n\r\n").utf8)
        bytes += body
        places.append(bytes.count)
    }
}
