extension UploadRequest {
    /// Reads the body of an upload in whichever dialect it is, with the aliases of backend 1.3.
    ///
    /// A body that has both lists, or one of them twice, is refused: whichever is read, the other would be swallowed.
    ///
    /// - Parameter body: the parsed body.
    /// - Throws: `WireError` with `.unknownDialect`, `.orderViolation`, or `.invalidField`, naming the place.
    package init(json body: JSON) throws(WireError) {
        let lists = (body.objectMembers ?? []).count { $0.name == "batch" || $0.name == "transactions" }
        guard lists == 1 else {
            throw .field(
                "body", "a member \"batch\" or \"transactions\", and one alone", code: .unknownDialect)
        }
        if let batch = body["batch"] {
            let operations = try UploadReader.list(batch, "batch", UploadReader.operation)
            self.init(
                dialect: .batch, clientID: UploadReader.client(ofBatch: body, operations),
                transactions: [UploadTransaction(operations: operations)])
            return
        }
        let version = body["v"]
        if let version, version.int64Value != 1 { throw .field("v", "1", code: .unknownDialect) }
        let transactions = try UploadReader.list(
            body["transactions"] ?? .null, "transactions", UploadReader.transaction)
        guard !transactions.isEmpty else { throw .field("transactions", "at least one transaction") }
        self.init(
            dialect: version == nil ? .transactions : .versioned,
            clientID: try UploadReader.client(body),
            requestID: try UploadReader.text(body["request_id"], "request_id"), transactions: transactions)
        try checkOrder()
    }

    /// The numbers of operations must rise through the whole request (backend 1.5).
    private func checkOrder() throws(WireError) {
        var last = Int64.min
        for transaction in transactions {
            for index in transaction.operations.indices {
                guard let number = transaction.operations[index].opID else { continue }
                guard number > last else {
                    throw .field("op_id", "a number above the one before it", code: .orderViolation)
                }
                last = number
            }
        }
    }
}

extension UploadOperation {
    /// Reads one operation with the aliases of backend 1.3.
    ///
    /// - Parameters:
    ///   - json: the object.
    ///   - path: where it stands, for the error.
    /// - Throws: `WireError` with `.invalidField`.
    package init(json: JSON, path: String) throws(WireError) {
        self = try UploadReader.operation(json, Place(path))
    }
}

/// Where a value stands, which is spelled for an error alone: a body has a thousand operations, and no error.
private struct Place {
    private let path: String
    private let index: Int?

    /// Names a value, or an element of the list that it is.
    init(_ path: String, _ index: Int? = nil) {
        self.path = path
        self.index = index
    }

    /// The path of a member.
    func member(_ name: String) -> String { "\(text)/\(name)" }

    /// The path.
    var text: String { index.map { "\(path)/\($0)" } ?? path }
}

/// Where in an operation the members stand that mean something, found in one passage over its names; of two of one name the
/// last counts, as for most readers.
private struct OperationMembers {
    /// Names that mean the same: the first that is there and not `null` counts.
    struct Aliases {
        var first: Int?
        var second: Int?
        var third: Int?

        /// The value that counts.
        func value(of members: [JSONMember]) -> JSON? {
            if let first, !members[first].value.isNull { return members[first].value }
            if let second, !members[second].value.isNull { return members[second].value }
            if let third, !members[third].value.isNull { return members[third].value }
            return nil
        }
    }

    private(set) var op: Int?
    private(set) var table = Aliases()
    private(set) var id = Aliases()
    private(set) var opID = Aliases()
    private(set) var data = Aliases()
    private(set) var old = Aliases()
    private(set) var metadata: Int?

    init(_ members: [JSONMember]) {
        for place in members.indices {
            // None of these names has another spelling that Swift takes for the same.
            switch members[place].name {
            case "op_id": opID.first = place
            case "op": op = place
            case "table": table.first = place
            case "type": table.second = place
            case "id": id.first = place
            case "data": data.first = place
            case "old": old.first = place
            case "metadata": metadata = place
            case "opData": data.second = place
            case "op_data": data.third = place
            case "clientId": opID.second = place
            case "client_id": opID.third = place
            case "previousValues": old.second = place
            case "previous_values": old.third = place
            default: break
            }
        }
    }
}

private enum UploadReader {
    static func list<Element>(
        _ value: JSON, _ path: String, _ element: (JSON, Place) throws(WireError) -> Element
    ) throws(WireError) -> [Element] {
        guard let values = value.arrayValue else { throw .field(path, "an array") }
        var elements: [Element] = []
        elements.reserveCapacity(values.count)
        for index in values.indices { elements.append(try element(values[index], Place(path, index))) }
        return elements
    }

    static func transaction(_ value: JSON, _ place: Place) throws(WireError) -> UploadTransaction {
        guard let members = value.objectMembers else { throw .field(place.text, "an object") }
        // Of two lists one would be swallowed.
        guard members.count(where: { $0.name == "crud" }) == 1, let crud = value["crud"] else {
            throw .field(place.text, "a member \"crud\", once")
        }
        return UploadTransaction(
            id: try number(
                first(value, ["tx_id", "transaction_id", "transactionId"]), place.member("tx_id")),
            operations: try list(crud, place.member("crud"), operation))
    }

    static func operation(_ value: JSON, _ place: Place) throws(WireError) -> UploadOperation {
        guard case .object(let members) = value else { throw .field(place.text, "an object") }
        let found = OperationMembers(members)
        guard
            let kind = found.op.flatMap({ members[$0].value.stringValue })
                .flatMap(UploadOperationKind.init(rawValue:))
        else {
            throw .field(place.member("op"), "PUT, PATCH or DELETE")
        }
        guard let table = found.table.value(of: members)?.stringValue else {
            throw .field(place.member("table"), "a text")
        }
        let data = try object(found.data.value(of: members), place.member("data"))
        guard let id = (found.id.value(of: members) ?? data?.last { $0.name == "id" }?.value).flatMap(idText)
        else {
            throw .field(place.member("id"), "a text")
        }
        return UploadOperation(
            kind: kind, table: table, id: id,
            opID: try number(found.opID.value(of: members), place.member("op_id")), data: data,
            old: try object(found.old.value(of: members), place.member("old")),
            metadata: try text(found.metadata.map { members[$0].value }, place.member("metadata")))
    }

    /// Returns the first of these members that is there and not `null`.
    static func first(_ value: JSON, _ names: [String]) -> JSON? {
        for name in names {
            if let member = value[name], !member.isNull { return member }
        }
        return nil
    }

    /// Ids are texts; a number is taken as it is spelled, since some senders quote nothing.
    static func idText(_ value: JSON) -> String? {
        if case .number(let lexeme) = value { return lexeme }
        return value.stringValue
    }

    static func object(_ value: JSON?, _ path: @autoclosure () -> String) throws(WireError) -> [JSONMember]? {
        guard let value else { return nil }
        guard let members = value.objectMembers else { throw .field(path(), "an object") }
        return members
    }

    static func text(_ value: JSON?, _ path: @autoclosure () -> String) throws(WireError) -> String? {
        guard let value, !value.isNull else { return nil }
        guard let text = value.stringValue else { throw .field(path(), "a text") }
        return text
    }

    /// The id of the client's database; an empty text names none.
    static func client(_ body: JSON) throws(WireError) -> String? {
        guard let id = try text(body["client_id"], "client_id"), !id.isEmpty else { return nil }
        return id
    }

    /// The same of a legacy batch, whose senders promise nothing: only where a repetition can be told by rising numbers.
    static func client(ofBatch body: JSON, _ operations: [UploadOperation]) -> String? {
        guard let id = body["client_id"]?.stringValue, (1...255).contains(id.utf8.count), !id.utf8.contains(0)
        else { return nil }
        let numbers = operations.compactMap(\.opID)
        let isRising = zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 }
        return numbers.count == operations.count && isRising ? id : nil
    }

    static func number(_ value: JSON?, _ path: @autoclosure () -> String) throws(WireError) -> Int64? {
        guard let value else { return nil }
        if let number = value.int64Value { return number }
        guard let number = value.stringValue.flatMap({ Int64($0) }) else {
            throw .field(path(), "a whole number")
        }
        return number
    }
}
