/// What an entry of the upload queue does to its row.
package enum UploadOperationKind: String, Sendable, Hashable {
    /// Sets the row to the columns given.
    case put = "PUT"
    /// Changes the columns given.
    case patch = "PATCH"
    /// Deletes the row.
    case delete = "DELETE"
}

/// One entry of the upload queue on its way to the backend (backend 1.3, 1.5).
package struct UploadOperation: Sendable, Hashable {
    /// What it does.
    package var kind: UploadOperationKind
    /// The client's name of the table.
    package var table: String
    /// The id of the row.
    package var id: String
    /// Its number in the client's queue.
    package var opID: Int64?
    /// The columns in the order they came, their numbers as spelled; nil where the sender gave none.
    package var data: [JSONMember]?
    /// The values before the change, if the client tracks them.
    package var old: [JSONMember]?
    /// The app's own text.
    package var metadata: String?
    /// What the sender called it, where that is none of the kinds: it is refused, whatever `kind` says.
    package var unknownKind: String?

    /// Makes an operation of its fields.
    package init(
        kind: UploadOperationKind, table: String, id: String, opID: Int64? = nil, data: [JSONMember]? = nil,
        old: [JSONMember]? = nil, metadata: String? = nil
    ) {
        self.kind = kind
        self.table = table
        self.id = id
        self.opID = opID
        self.data = data
        self.old = old
        self.metadata = metadata
    }

    /// The operation as the JSON object of an upload.
    package var json: JSON {
        var members: [JSONMember] = []
        if let opID { members.append(JSONMember("op_id", .integer(opID))) }
        members.append(JSONMember("op", .string(kind.rawValue)))
        members.append(JSONMember("table", .string(table)))
        members.append(JSONMember("id", .string(id)))
        if let data { members.append(JSONMember("data", .object(data))) }
        if let old { members.append(JSONMember("old", .object(old))) }
        if let metadata { members.append(JSONMember("metadata", .string(metadata))) }
        return .object(members)
    }
}

/// The operations of one transaction of the client, in their order.
package struct UploadTransaction: Sendable, Hashable {
    /// Its number on the client; nil for entries written outside an explicit transaction.
    package var id: Int64?
    /// The operations.
    package var operations: [UploadOperation]

    /// Makes a transaction of its fields.
    package init(id: Int64? = nil, operations: [UploadOperation]) {
        self.id = id
        self.operations = operations
    }
}

/// The body of an upload (backend 1.1 to 1.5).
package struct UploadRequest: Sendable, Hashable {
    /// How a body is spelled.
    package enum Dialect: String, Sendable {
        /// `{"batch": […]}`: all operations are one transaction.
        case batch
        /// `{"transactions": [{"crud": […]}]}`, the official reference of a write API.
        case transactions
        /// The same with `"v": 1`, the client's id and the numbers of its queue.
        case versioned
    }

    /// How the body is spelled.
    package var dialect: Dialect
    /// The id of the client's database.
    package var clientID: String?
    /// Names the attempt in logs.
    package var requestID: String?
    /// The transactions, oldest first.
    package var transactions: [UploadTransaction]

    /// Makes a request of its fields.
    package init(
        dialect: Dialect = .versioned, clientID: String? = nil, requestID: String? = nil,
        transactions: [UploadTransaction]
    ) {
        self.dialect = dialect
        self.clientID = clientID
        self.requestID = requestID
        self.transactions = transactions
    }

    /// The request as the JSON object of its dialect.
    package var json: JSON {
        if dialect == .batch {
            let client = clientID.map { [JSONMember("client_id", .string($0))] } ?? []
            let batch = JSONMember("batch", .array(transactions.flatMap(\.operations).map(\.json)))
            return .object(client + [batch])
        }
        var members: [JSONMember] = []
        if dialect == .versioned {
            members.append(JSONMember("v", .integer(1)))
            if let clientID { members.append(JSONMember("client_id", .string(clientID))) }
            if let requestID { members.append(JSONMember("request_id", .string(requestID))) }
        }
        let idName = dialect == .versioned ? "tx_id" : "transaction_id"
        let list = transactions.map { transaction -> JSON in
            var members: [JSONMember] = []
            if let id = transaction.id { members.append(JSONMember(idName, .integer(id))) }
            members.append(JSONMember("crud", .array(transaction.operations.map(\.json))))
            return .object(members)
        }
        members.append(JSONMember("transactions", .array(list)))
        return .object(members)
    }
}
