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
        if !operations.isEmpty { members.append(JSONMember("ops", .array(operations.map(\.json)))) }
        return .object(members)
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

    /// The answer as a JSON object; older clients read only `message`.
    package var json: JSON {
        var states: [String: Int] = [:]
        for operation in results.lazy.flatMap(\.operations) { states[operation.status, default: 0] += 1 }
        let count = { (names: [String]) in JSON.integer(names.reduce(0) { $0 + (states[$1] ?? 0) }) }
        return .object([
            JSONMember("request_id", .string(requestID)), JSONMember("message", .string("Batch completed")),
            JSONMember("replayed", .bool(!results.isEmpty && results.allSatisfy(\.replayed))),
            JSONMember("results", .array(results.map(\.json))),
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
        ])
    }
}

extension UploadResponse {
    /// Reads the answer of any backend of these dialects; a legacy one without `results` counts as no results.
    ///
    /// - Parameter json: the parsed body.
    /// - Throws: `WireError` with `.invalidField`.
    package init(json: JSON) throws(WireError) {
        var results: [UploadResult] = []
        for (index, value) in (json["results"]?.arrayValue ?? []).enumerated() {
            guard let status = value["status"]?.stringValue.flatMap(UploadResult.Status.init(rawValue:))
            else {
                throw .field("results/\(index)/status", "a known status")
            }
            var result = UploadResult(status: status, txID: value["tx_id"]?.int64Value)
            result.replayed = value["replayed"]?.boolValue ?? false
            let needsClient = value["requires_client_handling"]?.boolValue
            // Without it nobody knows whether the backend has kept the transaction (backend 1.2).
            guard status != .fatalError || needsClient != nil else {
                throw .field("results/\(index)/requires_client_handling", "true or false")
            }
            result.requiresClientHandling = needsClient ?? false
            result.rejectionID = value["rejection_id"]?.stringValue
            result.retryAfter = value["retry_after_ms"]?.int64Value.map { Duration.milliseconds($0) }
            if let failed = value["failed_operation"] {
                result.failure = UploadResult.Failure(
                    operationIndex: failed["operation_index"]?.int64Value.map { Int($0) },
                    errorCode: failed["error_code"]?.stringValue ?? "UNCLASSIFIED_ERROR",
                    message: failed["message"]?.stringValue ?? "",
                    details: failed["details"]?.objectMembers ?? [])
            }
            result.operations = (value["ops"]?.arrayValue ?? []).compactMap { operation in
                guard let index = operation["i"]?.int64Value, let status = operation["status"]?.stringValue
                else {
                    return nil
                }
                return UploadResult.Operation(
                    index: Int(index), opID: operation["op_id"]?.int64Value, status: status,
                    code: operation["code"]?.stringValue)
            }
            results.append(result)
        }
        self.init(requestID: json["request_id"]?.stringValue ?? "", results: results)
    }
}
