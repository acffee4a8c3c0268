import PowerSyncWire

/// The body of an upload as it came: the request, what each transaction looked like, and what is refused
/// unread.
package struct UploadBody: Sendable {
    /// Limits published in the capabilities (backend 1.8).
    package typealias Limits = UploadLimits

    /// The request.
    package let request: UploadRequest
    /// The operations of each transaction as they came, for the dead letters.
    package let payloads: [JSON]
    /// Operations of each transaction that are refused before they are looked at, by their index.
    package let refusals: [[Int: Refusal]]

    /// Reads a body in whichever dialect it is (backend 1.1).
    ///
    /// - Parameters:
    ///   - bytes: the body.
    ///   - limits: what is too large.
    /// - Throws: `Problem` for what no retry will cure: malformed, invalid, too large.
    package init(_ bytes: [UInt8], limits: Limits = Limits()) throws(Problem) {
        try self.init(MeasuredBody(bytes, limits: limits))
    }

    /// Reads the body of `PUT`, `PATCH` or `DELETE /api/data`: one operation, its id within the data.
    ///
    /// - Parameters:
    ///   - bytes: the body.
    ///   - method: the HTTP method, which is the operation.
    ///   - limits: what is too large.
    /// - Throws: `Problem` as above.
    package init(_ bytes: [UInt8], method: String, limits: Limits = Limits()) throws(Problem) {
        try self.init(MeasuredBody(bytes, limits: limits), method: method)
    }

    /// Reads a body that is known to be within the limits.
    ///
    /// - Parameters:
    ///   - measured: the body.
    ///   - method: the HTTP method where that is the operation.
    ///   - isReplay: whether a dead letter is sent again; nobody else may have the name of such a client.
    /// - Throws: `Problem` for what is malformed or invalid.
    package init(_ measured: MeasuredBody, method: String? = nil, isReplay: Bool = false) throws(Problem) {
        let body = try measured.tree()
        guard let method else {
            try self.init(body)
            if !isReplay, request.clientID?.utf8.starts(with: UploadContext.Replay.clientPrefix.utf8) == true
            {
                throw .invalidRequest(
                    "client_id: expected a text that does not begin with \(UploadContext.Replay.clientPrefix)"
                )
            }
            return
        }
        guard case .object(let members) = body else {
            throw .invalidRequest("expected an object with table and data")
        }
        let operation = JSON.object(members.filter { $0.name != "op" } + [JSONMember("op", .string(method))])
        try self.init(.object([JSONMember("batch", .array([operation]))]))
    }

    private init(_ body: JSON) throws(Problem) {
        guard body.objectMembers != nil else { throw .invalidRequest("expected an object") }
        let lists =
            body["batch"].map { [$0] } ?? body["transactions"]?.arrayValue?.map { $0["crud"] ?? .null } ?? []
        payloads = lists
        do throws(WireError) {
            // What was read to its end has operations of the three kinds alone.
            request = try UploadRequest(json: body)
            refusals = Array(repeating: [:], count: lists.count)
        } catch {
            refusals = lists.map(UploadBody.unknownOperations)
            guard !refusals.allSatisfy(\.isEmpty) else { throw Problem(error) }
            request = try UploadBody.request(body, refusals, lists)
        }
        if let client = request.clientID, client.utf8.count > 255 || client.utf8.contains(0) {
            throw .invalidRequest("client_id: expected a text of at most 255 bytes")
        }
    }

    /// The request with operations that are refused in their places.
    private static func request(
        _ body: JSON, _ refusals: [[Int: Refusal]], _ lists: [JSON]
    ) throws(Problem) -> UploadRequest {
        var request: UploadRequest
        do throws(WireError) {
            request = try UploadRequest(json: withKnownOperations(body))
        } catch {
            throw Problem(error)
        }
        for (number, refused) in refusals.enumerated() {
            for index in refused.keys {
                request.transactions[number].operations[index].unknownKind =
                    lists[number].arrayValue?[index]["op"]?.stringValue
            }
        }
        return request
    }

    /// An operation of another kind must neither be swallowed nor block the queue behind it.
    private static func unknownOperations(_ list: JSON) -> [Int: Refusal] {
        var refusals: [Int: Refusal] = [:]
        for (index, operation) in (list.arrayValue ?? []).enumerated() {
            guard case .string(let kind) = operation["op"], UploadOperationKind(rawValue: kind) == nil else {
                continue
            }
            refusals[index] = Refusal(
                code: "UNKNOWN_OPERATION", message: "an operation is PUT, PATCH or DELETE", index: index,
                table: operation["table"]?.stringValue, rowID: operation["id"]?.stringValue)
        }
        return refusals
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
