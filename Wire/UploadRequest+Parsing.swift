extension UploadRequest {
    /// Reads the body of an upload in whichever dialect it is, with the aliases of backend 1.3.
    ///
    /// - Parameter body: the parsed body.
    /// - Throws: `WireError` with `.invalidField`, naming the place.
    package init(json body: JSON) throws(WireError) {
        if let batch = body["batch"] {
            let operations = try UploadReader.list(batch, "batch", UploadReader.operation)
            self.init(dialect: .batch, transactions: [UploadTransaction(operations: operations)])
            return
        }
        guard let list = body["transactions"] else {
            throw .field("body", "a member \"batch\" or \"transactions\"")
        }
        let version = body["v"]
        if let version, version.int64Value != 1 { throw .field("v", "1") }
        let transactions = try UploadReader.list(list, "transactions", UploadReader.transaction)
        guard !transactions.isEmpty else { throw .field("transactions", "at least one transaction") }
        self.init(
            dialect: version == nil ? .transactions : .versioned,
            clientID: try UploadReader.text(body["client_id"], "client_id"),
            requestID: try UploadReader.text(body["request_id"], "request_id"), transactions: transactions)
        try checkOrder()
    }

    /// The numbers of operations must rise through the whole request (backend 1.5).
    private func checkOrder() throws(WireError) {
        var last = Int64.min
        for operation in transactions.lazy.flatMap(\.operations) {
            guard let number = operation.opID else { continue }
            guard number > last else { throw .field("op_id", "a number above the one before it") }
            last = number
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
        self = try UploadReader.operation(json, path)
    }
}

private enum UploadReader {
    static func list<Element>(
        _ value: JSON, _ path: String, _ element: (JSON, String) throws(WireError) -> Element
    ) throws(WireError) -> [Element] {
        guard let values = value.arrayValue else { throw .field(path, "an array") }
        var elements: [Element] = []
        elements.reserveCapacity(values.count)
        for (index, value) in values.enumerated() { elements.append(try element(value, "\(path)/\(index)")) }
        return elements
    }

    static func transaction(_ value: JSON, _ path: String) throws(WireError) -> UploadTransaction {
        guard value.objectMembers != nil else { throw .field(path, "an object") }
        guard let crud = value["crud"] else { throw .field(path, "a member \"crud\"") }
        return UploadTransaction(
            id: try number(first(value, ["tx_id", "transaction_id", "transactionId"]), path + "/tx_id"),
            operations: try list(crud, path + "/crud", operation))
    }

    static func operation(_ value: JSON, _ path: String) throws(WireError) -> UploadOperation {
        guard value.objectMembers != nil else { throw .field(path, "an object") }
        guard let kind = value["op"]?.stringValue.flatMap(UploadOperationKind.init(rawValue:)) else {
            throw .field(path + "/op", "PUT, PATCH or DELETE")
        }
        guard let table = first(value, ["table", "type"])?.stringValue else {
            throw .field(path + "/table", "a text")
        }
        let data = try object(first(value, ["data", "opData", "op_data"]), path + "/data")
        guard let id = (first(value, ["id"]) ?? data?.last { $0.name == "id" }?.value).flatMap(idText) else {
            throw .field(path + "/id", "a text")
        }
        return UploadOperation(
            kind: kind, table: table, id: id,
            opID: try number(first(value, ["op_id", "clientId", "client_id"]), path + "/op_id"), data: data,
            old: try object(first(value, ["old", "previousValues", "previous_values"]), path + "/old"),
            metadata: try text(value["metadata"], path + "/metadata"))
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

    static func object(_ value: JSON?, _ path: String) throws(WireError) -> [JSONMember]? {
        guard let value else { return nil }
        guard let members = value.objectMembers else { throw .field(path, "an object") }
        return members
    }

    static func text(_ value: JSON?, _ path: String) throws(WireError) -> String? {
        guard let value, !value.isNull else { return nil }
        guard let text = value.stringValue else { throw .field(path, "a text") }
        return text
    }

    static func number(_ value: JSON?, _ path: String) throws(WireError) -> Int64? {
        guard let value else { return nil }
        if let number = value.int64Value { return number }
        guard let number = value.stringValue.flatMap({ Int64($0) }) else {
            throw .field(path, "a whole number")
        }
        return number
    }
}
