/// What became of one uploaded transaction (backend 1.2, 1.6).
package struct UploadResult: Sendable, Hashable {
    /// The verdict; the names are those of the official reference.
    package enum Status: String, Sendable {
        /// Committed, or nothing to do: the client completes it.
        case success
        /// Nothing committed; the client keeps it and tries again.
        case retryableError = "retryable_error"
        /// Will never be accepted; kept by the backend unless the client must decide.
        case fatalError = "fatal_error"
        /// An earlier transaction of the request stopped it.
        case notAttempted = "not_attempted"
    }

    /// What became of one operation.
    package struct Operation: Sendable, Hashable {
        /// The index in its transaction.
        package var index: Int
        /// The number in the client's queue, if it was sent.
        package var opID: Int64?
        /// `applied`, `noop`, `adjusted`, `conflict`, `rejected`, `skipped` or `replayed`.
        package var status: String
        /// Why, for other states than `applied`.
        package var code: String?

        /// Makes an entry of its fields.
        package init(index: Int, opID: Int64? = nil, status: String, code: String? = nil) {
            self.index = index
            self.opID = opID
            self.status = status
            self.code = code
        }
    }

    /// The operation that failed.
    package struct Failure: Sendable, Hashable {
        /// The index in its transaction; nil where the commit itself failed.
        package var operationIndex: Int?
        /// A stable code such as `CHECK_VIOLATION`.
        package var errorCode: String
        /// One sentence without values of rows.
        package var message: String
        /// Names such as the constraint and the table.
        package var details: [JSONMember]

        /// Makes a failure of its fields.
        package init(operationIndex: Int?, errorCode: String, message: String, details: [JSONMember] = []) {
            self.operationIndex = operationIndex
            self.errorCode = errorCode
            self.message = message
            self.details = details
        }
    }

    /// The verdict.
    package var status: Status
    /// The transaction's number on the client.
    package var txID: Int64?
    /// Whether the verdict is that of an earlier upload of the same transaction.
    package var replayed: Bool
    /// What became of each operation.
    package var operations: [Operation]
    /// Whether the client must decide; with `.fatalError` only.
    package var requiresClientHandling: Bool
    /// What failed.
    package var failure: Failure?
    /// The entry in the dead letters.
    package var rejectionID: String?
    /// How long to wait before the next attempt, if the backend says so; with `.retryableError` only.
    package var retryAfter: Duration?

    /// Makes a result of its fields.
    package init(
        status: Status, txID: Int64? = nil, replayed: Bool = false, operations: [Operation] = [],
        requiresClientHandling: Bool = false, failure: Failure? = nil, rejectionID: String? = nil,
        retryAfter: Duration? = nil
    ) {
        self.status = status
        self.txID = txID
        self.replayed = replayed
        self.operations = operations
        self.requiresClientHandling = requiresClientHandling
        self.failure = failure
        self.rejectionID = rejectionID
        self.retryAfter = retryAfter
    }

    /// The result as the JSON object of an answer.
    package var json: JSON {
        guard !operations.isEmpty else { return .object(members) }
        return .object(members + [JSONMember("ops", .array(operations.map(\.json)))])
    }

    /// Appends the bytes of `json`, of which the operations are made no tree.
    fileprivate func append(to bytes: inout [UInt8]) {
        JSON.object(members).append(to: &bytes)
        guard !operations.isEmpty else { return }
        bytes.removeLast()
        bytes.append(contentsOf: ",\"ops\":[".utf8)
        for place in operations.indices {
            if place > 0 { bytes.append(UInt8(ascii: ",")) }
            operations[place].append(to: &bytes)
        }
        bytes.append(contentsOf: "]}".utf8)
    }

    /// How many operations have each status; neighbours mostly have the same.
    fileprivate var counts: [String: Int] {
        var counts: [String: Int] = [:]
        var start = 0
        while start < operations.count {
            let status = operations[start].status
            var end = start + 1
            while end < operations.count, operations[end].status == status { end += 1 }
            counts[status, default: 0] += end - start
            start = end
        }
        return counts
    }

    /// The members but the operations.
    private var members: [JSONMember] {
        var members = [JSONMember("status", .string(status.rawValue))]
        if let txID { members.append(JSONMember("tx_id", .integer(txID))) }
        if status == .success || status == .fatalError {
            members.append(JSONMember("replayed", .bool(replayed)))
        }
        if status == .fatalError {
            members.append(JSONMember("requires_client_handling", .bool(requiresClientHandling)))
        }
        if let (seconds, attoseconds) = retryAfter?.components {
            let milliseconds = seconds * 1_000 + attoseconds / 1_000_000_000_000_000
            members.append(JSONMember("retry_after_ms", .integer(milliseconds)))
        }
        if let failure {
            var failed: [JSONMember] = []
            if let index = failure.operationIndex {
                failed.append(JSONMember("operation_index", .integer(index)))
            }
            failed.append(JSONMember("error_code", .string(failure.errorCode)))
            failed.append(JSONMember("message", .string(failure.message)))
            if !failure.details.isEmpty { failed.append(JSONMember("details", .object(failure.details))) }
            members.append(JSONMember("failed_operation", .object(failed)))
        }
        if let rejectionID { members.append(JSONMember("rejection_id", .string(rejectionID))) }
        return members
    }
}

extension UploadResult.Operation {
    fileprivate var json: JSON {
        var members: [JSONMember] = []
        members.reserveCapacity(4)
        members.append(JSONMember("i", .integer(index)))
        if let opID { members.append(JSONMember("op_id", .integer(opID))) }
        members.append(JSONMember("status", .string(status)))
        if let code { members.append(JSONMember("code", .string(code))) }
        return .object(members)
    }

    /// Appends the bytes of `json`.
    fileprivate func append(to bytes: inout [UInt8]) {
        bytes.append(contentsOf: "{\"i\":".utf8)
        JSON.appendInteger(Int64(index), to: &bytes)
        if let opID {
            bytes.append(contentsOf: ",\"op_id\":".utf8)
            JSON.appendInteger(opID, to: &bytes)
        }
        bytes.append(contentsOf: ",\"status\":".utf8)
        JSON.appendQuoted(status, to: &bytes)
        if let code {
            bytes.append(contentsOf: ",\"code\":".utf8)
            JSON.appendQuoted(code, to: &bytes)
        }
        bytes.append(UInt8(ascii: "}"))
    }
}

/// The answer to an upload (backend 1.6).
package struct UploadResponse: Sendable, Hashable {
    /// Names the attempt in logs.
    package var requestID: String
    /// One result for each transaction of the request, in its order.
    package var results: [UploadResult]

    /// Makes an answer of its fields.
    package init(requestID: String, results: [UploadResult]) {
        self.requestID = requestID
        self.results = results
    }

    /// What an answer says to people, mostly.
    private static let message = "Batch completed"

    /// The answer as a JSON object; older clients read only `message`.
    package var json: JSON {
        .object(head(Self.message) + [JSONMember("results", .array(results.map(\.json)))] + tail)
    }

    /// Returns the bytes of `json`; of a thousand operations no tree is made for them.
    ///
    /// - Parameter message: What is said in place of the usual message; nil for that.
    /// - Returns: The bytes.
    package func utf8(message: String? = nil) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(results.reduce(512) { $0 + 48 * $1.operations.count })
        JSON.object(head(message ?? Self.message)).append(to: &bytes)
        bytes.removeLast()
        bytes.append(contentsOf: ",\"results\":[".utf8)
        for place in results.indices {
            if place > 0 { bytes.append(UInt8(ascii: ",")) }
            results[place].append(to: &bytes)
        }
        bytes.append(contentsOf: "],".utf8)
        bytes.append(contentsOf: JSON.object(tail).utf8.dropFirst())
        return bytes
    }

    /// The members in front of the results.
    private func head(_ message: String) -> [JSONMember] {
        [
            JSONMember("request_id", .string(requestID)), JSONMember("message", .string(message)),
            JSONMember("replayed", .bool(!results.isEmpty && results.allSatisfy(\.replayed))),
        ]
    }

    /// The members behind the results.
    private var tail: [JSONMember] {
        var states: [String: Int] = [:]
        for result in results { states.merge(result.counts, uniquingKeysWith: +) }
        let count = { (names: [String]) in JSON.integer(names.reduce(0) { $0 + (states[$1] ?? 0) }) }
        return [
            JSONMember(
                "summary",
                .object([
                    JSONMember("applied", count(["applied", "adjusted"])),
                    JSONMember("noop", count(["noop"])),
                    JSONMember("conflict", count(["conflict"])),
                    JSONMember("rejected", count(["rejected", "skipped"])),
                    JSONMember("replayed", count(["replayed"])),
                    JSONMember("not_attempted", .integer(results.count { $0.status == .notAttempted })),
                ])),
            JSONMember("checkpoint", .null),
        ]
    }
}
