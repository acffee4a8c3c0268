import PowerSyncWire

/// The body of an upload as it came: the request, what each transaction looked like, and what is refused
/// unread.
package struct UploadBody: Sendable {
    /// Limits published in the capabilities (backend 1.8).
    package struct Limits: Sendable, Hashable {
        /// The most transactions of a request.
        package var transactions = 50
        /// The most operations of a transaction, which a client cannot split.
        package var operations = 50_000
        /// How deep a body may nest: the operations, their data, and JSON columns within.
        package var depth = 64

        /// Makes the default limits.
        package init() {}
    }

    /// The request.
    package let request: UploadRequest
    /// The operations of each transaction as they came, for the dead letters.
    package let payloads: [JSON]
    /// Why a transaction is refused before any of it is looked at, one entry each.
    package let refusals: [Refusal?]

    /// Reads a body in whichever dialect it is (backend 1.1).
    ///
    /// - Parameters:
    ///   - bytes: the body.
    ///   - limits: what is too large.
    /// - Throws: `Problem` for what no retry will cure: malformed, invalid, too large.
    package init(_ bytes: [UInt8], limits: Limits = Limits()) throws(Problem) {
        try self.init(UploadBody.parse(bytes, limits), limits: limits)
    }

    /// Reads the body of `PUT`, `PATCH` or `DELETE /api/data`: one operation, its id within the data.
    ///
    /// - Parameters:
    ///   - bytes: the body.
    ///   - method: the HTTP method, which is the operation.
    ///   - limits: what is too large.
    /// - Throws: `Problem` as above.
    package init(_ bytes: [UInt8], method: String, limits: Limits = Limits()) throws(Problem) {
        guard case .object(let members) = try UploadBody.parse(bytes, limits) else {
            throw .invalidRequest("expected an object with table and data")
        }
        let operation = JSON.object(members.filter { $0.name != "op" } + [JSONMember("op", .string(method))])
        try self.init(.object([JSONMember("batch", .array([operation]))]), limits: limits)
    }

    private init(_ body: JSON, limits: Limits) throws(Problem) {
        guard body.objectMembers != nil else { throw .invalidRequest("expected an object") }
        let lists =
            body["batch"].map { [$0] } ?? body["transactions"]?.arrayValue?.map { $0["crud"] ?? .null } ?? []
        guard lists.count <= limits.transactions else {
            throw .tooLarge(
                "at most \(limits.transactions) transactions in a request", limit: limits.transactions,
                maxTransactions: limits.transactions)
        }
        for list in lists where (list.arrayValue?.count ?? 0) > limits.operations {
            throw .tooLarge(
                "at most \(limits.operations) operations in a transaction", limit: limits.operations)
        }
        let refusals = lists.map(UploadBody.unknownOperation)
        do {
            let known = refusals.allSatisfy { $0 == nil } ? body : UploadBody.withKnownOperations(body)
            request = try UploadRequest(json: known)
        } catch {
            throw .invalidRequest(error.message)
        }
        if let client = request.clientID, client.utf8.count > 255 || client.utf8.contains(0) {
            throw .invalidRequest("client_id: expected a text of at most 255 bytes")
        }
        self.refusals = refusals
        payloads = lists
    }

    private static func parse(_ bytes: [UInt8], _ limits: Limits) throws(Problem) -> JSON {
        do {
            return try JSON.parse(bytes, limits: JSONLimits(depth: limits.depth))
        } catch {
            throw .malformedJSON(error.message)
        }
    }

    /// An operation of another kind must neither be swallowed nor block the queue behind it.
    private static func unknownOperation(_ list: JSON) -> Refusal? {
        for (index, operation) in (list.arrayValue ?? []).enumerated() {
            guard case .string(let kind) = operation["op"], UploadOperationKind(rawValue: kind) == nil else {
                continue
            }
            return Refusal(
                code: "UNKNOWN_OPERATION", message: "an operation is PUT, PATCH or DELETE", index: index,
                table: operation["table"]?.stringValue, rowID: operation["id"]?.stringValue)
        }
        return nil
    }

    private static func withKnownOperations(_ body: JSON) -> JSON {
        switch body {
        case .array(let elements): .array(elements.map(withKnownOperations))
        case .object(let members):
            .object(
                members.map { member in
                    switch (member.name, member.value) {
                    case ("batch", _), ("transactions", _), ("crud", _):
                        JSONMember(member.name, withKnownOperations(member.value))
                    case ("op", .string(let kind)) where UploadOperationKind(rawValue: kind) == nil:
                        JSONMember("op", .string(UploadOperationKind.delete.rawValue))
                    default: member
                    }
                })
        default: body
        }
    }
}
