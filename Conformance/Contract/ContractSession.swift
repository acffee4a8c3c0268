import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncWire

/// One case at work on a backend: names, numbers of operations, requests and readings, for entries and for code.
package actor ContractSession {
    /// The backend.
    package nonisolated let target: ContractTarget
    /// The level of the case.
    package nonisolated let level: ContractProfile
    private let client: HTTPClient
    private var url: String
    private var names: CaseNames
    /// The last number of an operation, and of a transaction, of each client.
    private var numbers: [String: (operation: Int, transaction: Int)] = [:]
    private var features: Set<String> = []

    /// What the patience of one request is.
    package nonisolated var patience: Duration { Duration.seconds(60) * target.patience }

    /// Begins, and asks the backend what it can do.
    ///
    /// - Parameters:
    ///   - target: The backend.
    ///   - level: The level of the case.
    /// - Throws: `HTTPClientError` where there is none.
    package init(_ target: ContractTarget, level: ContractProfile) async throws {
        self.target = target
        self.level = level
        url = target.url
        client = try HTTPClient()
        names = CaseNames(target)
        try await readCapabilities()
    }

    private func readCapabilities() async throws {
        var request = ContractRequest()
        request.user = "nobody"
        request.method = "GET"
        request.path = target.fixtures.paths["capabilities"]
        let answer = try await self.answer(to: request)
        guard answer.status == 200, let json = answer.json else { return }
        for limit in json["limits"]?.objectMembers ?? [] {
            names.bind("limit." + limit.name, to: limit.value.stringValue ?? limit.value.text)
        }
        features = Set((json["features"]?.arrayValue ?? []).compactMap(\.stringValue))
    }

    /// Returns what a backend lacks that a case needs, or nil.
    func lacks(_ need: String) -> String? {
        let isThere =
            switch need {
            case "oracle": target.oracle != nil
            case "keys": target.keys != nil
            case "issuer": target.keys?.hasIssuer ?? false
            case "sessions": target.signIn != nil
            case "faults": target.faults != nil
            case "disabled": target.users["disabled"] != nil
            case "checkpoints": features.contains("custom_checkpoints")
            case "attachments", "rejections": features.contains(need)
            default: target.fixtures.tables[need] != nil
            }
        return isThere ? nil : need
    }

    /// Follows a backend that was started again.
    package func follow(_ url: String) { self.url = url }

    // MARK: Names

    /// Puts in what names stand for.
    package func text(_ template: String) throws(ContractError) -> String { try names.text(template) }

    /// Returns where a value is not as it must be, or nil (`JSONDemand`).
    func objection(_ expected: JSON, _ actual: JSON?, at path: String) throws(ContractError) -> String? {
        try JSONDemand.objection(expected, actual, &names, at: path)
    }

    /// The subject of a user's tokens; the empty text of nobody.
    package func subject(of user: String) -> String { target.users[user]?.subject ?? "" }

    // MARK: Requests

    /// Sends what a request of an entry says.
    ///
    /// - Parameter request: The request.
    /// - Returns: The answers: one for each time, and in dialect A one for each transaction.
    /// - Throws: `ContractError`, `HTTPClientError`, what the source of tokens throws.
    package func answers(to request: ContractRequest) async throws -> [ContractAnswer] {
        names.bind("me", to: subject(of: request.user))
        if let raw = request.raw {
            let socket = try await ContractSocket(url, within: patience)
            try await socket.send(try names.text(raw))
            return [try await socket.answer()]
        }
        let bodies = try self.bodies(of: request)
        var sent: [HTTPClientRequest] = []
        for body in bodies { sent.append(try await self.request(request, body)) }
        guard request.isAtOnce else {
            var answers: [ContractAnswer] = []
            for _ in 0..<request.times {
                for request in sent { answers.append(try await ContractSession.answer(client, request)) }
            }
            return answers
        }
        return try await withThrowingTaskGroup(of: ContractAnswer.self) { [client] group in
            for _ in 0..<request.times {
                for request in sent { group.addTask { try await ContractSession.answer(client, request) } }
            }
            var answers: [ContractAnswer] = []
            for try await answer in group { answers.append(answer) }
            return answers
        }
    }

    /// Sends a request that has one answer.
    package func answer(to request: ContractRequest) async throws -> ContractAnswer {
        guard let answer = try await answers(to: request).first else {
            throw ContractError(.catalogue, "a request without a transaction has no answer")
        }
        return answer
    }

    /// Gets a resource.
    ///
    /// - Parameters:
    ///   - path: The path, or `${path.keys}` and the like.
    ///   - user: Who asks; nobody without a token.
    /// - Returns: The answer.
    /// - Throws: As `answers`.
    package func get(_ path: String, as user: String = "nobody") async throws -> ContractAnswer {
        var request = ContractRequest()
        request.user = user
        request.method = "GET"
        request.path = path
        return try await answer(to: request)
    }

    /// Sends transactions in the dialect of the case's level.
    ///
    /// - Parameters:
    ///   - transactions: The transactions.
    ///   - user: Who sends them.
    ///   - client: From which client.
    ///   - dialect: In which dialect, if not that of the level.
    /// - Returns: The answers, in dialect A one for each transaction.
    /// - Throws: As `answers`.
    package func upload(
        _ transactions: [[JSON]], as user: String = "alice", client: String = "client",
        dialect: ContractDialect? = nil
    ) async throws -> [ContractAnswer] {
        var request = ContractRequest()
        request.user = user
        request.client = client
        request.dialect = dialect
        request.content = .transactions(transactions)
        return try await answers(to: request)
    }

    private func request(_ request: ContractRequest, _ body: [UInt8]?) async throws -> HTTPClientRequest {
        let path = try names.text(request.path ?? "${path.upload}")
        var fields = HTTPFields()
        if body != nil { fields["content-type"] = "application/json" }
        if let token = try await token(request) {
            fields["authorization"] = "Bearer \(token)"
            names.bind("bearer", to: token)
        }
        for member in request.fields {
            fields.remove(member.name)
            for value in member.value.arrayValue ?? [member.value] where !value.isNull {
                fields.append(member.name, try names.text(value.stringValue ?? value.text))
            }
        }
        return HTTPClientRequest(
            method: request.method, url: url + path, fields: fields, body: body, idleTimeout: patience * 2,
            totalTimeout: patience * 2)
    }

    private func token(_ request: ContractRequest) async throws -> String? {
        if let mode = request.token {
            guard let keys = target.keys else { throw ContractError(.token, "nobody gave the key of tokens") }
            return try keys.token(mode, for: subject(of: request.user))
        }
        if let mode = request.session {
            guard let signIn = target.signIn else {
                throw ContractError(.token, "nobody gave the secret of sessions")
            }
            return try signIn.session(mode, for: subject(of: request.user))
        }
        if request.user == "nobody" { return nil }
        guard let user = target.users[request.user] else {
            throw ContractError(.unknownName, "there is no user \(request.user)")
        }
        return try await user.token()
    }

    private static func answer(
        _ client: HTTPClient, _ request: HTTPClientRequest
    ) async throws -> ContractAnswer {
        let begun = ContinuousClock.now
        let answer = try await client.send(request)
        return ContractAnswer(
            status: answer.status, fields: answer.fields, body: answer.body, time: .now - begun)
    }

    // MARK: Bodies

    private func bodies(of request: ContractRequest) throws(ContractError) -> [[UInt8]?] {
        switch request.content {
        case .nothing: return [nil]
        case .json(let body): return [try names.json(body).utf8]
        case .bytes(let bytes): return [bytes]
        case .texts(let pieces): return [try text(of: pieces)]
        case .transactions(let transactions):
            return try bodies(of: transactions, request.dialect ?? level.dialect, client: request.client)
        }
    }

    private func text(of pieces: [ContractRequest.RepeatedText]) throws(ContractError) -> [UInt8] {
        var bytes: [UInt8] = []
        for piece in pieces {
            let isNumbered = piece.text.contains("${n}") || piece.text.contains("${fresh}")
            guard isNumbered || piece.times == 1 else {
                let text = Array(try names.text(piece.text).utf8)
                for _ in 0..<piece.times { bytes += text }
                continue
            }
            for number in 0..<piece.times {
                names.bind("n", to: String(number))
                bytes += Array(try names.text(piece.text).utf8)
            }
        }
        return bytes
    }

    private func bodies(
        of transactions: [[JSON]], _ dialect: ContractDialect, client: String
    ) throws(ContractError) -> [[UInt8]?] {
        guard dialect != .batch else {
            var bodies: [[UInt8]?] = []
            for transaction in transactions {
                var batch: [JSON] = []
                for operation in transaction { batch.append(.object(try members(of: operation))) }
                bodies.append(JSON.object([JSONMember("batch", .array(batch))]).utf8)
            }
            return bodies
        }
        var list: [JSON] = []
        for transaction in transactions { list.append(try self.transaction(transaction, dialect, client)) }
        var body = [JSONMember("transactions", .array(list))]
        if dialect == .versioned {
            body.append(JSONMember("v", .integer(1)))
            body.append(JSONMember("client_id", .string(try names.text("${\(client)}"))))
        }
        return [JSON.object(body).utf8]
    }

    /// A transaction of dialect B or S; in the latter with numbers that rise.
    private func transaction(
        _ transaction: [JSON], _ dialect: ContractDialect, _ client: String
    ) throws(ContractError) -> JSON {
        var last = numbers[client] ?? (operation: 0, transaction: 0)
        var crud: [JSON] = []
        for operation in transaction {
            var members = try members(of: operation)
            if dialect == .versioned, operation["op_id"] == nil {
                last.operation += 1
                members.append(JSONMember("op_id", .integer(last.operation)))
            }
            crud.append(.object(members))
        }
        last.transaction += 1
        numbers[client] = last
        guard dialect == .versioned else { return .object([JSONMember("crud", .array(crud))]) }
        return .object([JSONMember("tx_id", .integer(last.transaction)), JSONMember("crud", .array(crud))])
    }

    /// An operation with the names of the team's backend in place of the logical ones.
    private func members(of operation: JSON) throws(ContractError) -> [JSONMember] {
        let logical = (operation["table"] ?? operation["type"])?.stringValue ?? ""
        let table = target.fixtures.tables[logical]
        var members: [JSONMember] = []
        for member in operation.objectMembers ?? [] {
            if ["table", "type"].contains(member.name) {
                let name = table.map { JSON.string($0.name) } ?? member.value
                members.append(JSONMember(member.name, try names.json(name)))
            } else if ["data", "opData", "op_data"].contains(member.name),
                let data = member.value.objectMembers
            {
                let columns = data.map { JSONMember(table?.columns[$0.name] ?? $0.name, $0.value) }
                members.append(JSONMember(member.name, .object(try names.members(columns))))
            } else {
                members.append(JSONMember(member.name, try names.json(member.value)))
            }
        }
        return members
    }

    // MARK: The database

    /// Reads a row (`ContractOracle`); names in the id are put in.
    package func row(_ table: String, _ id: String) async throws -> [String: JSON]? {
        guard let oracle = target.oracle else { throw ContractError(.oracle, "there is no oracle") }
        return try await oracle.row(table, try names.text(id))
    }

    /// Counts the dead letters of a user; nil where nobody can tell.
    package func letters(of user: String) async throws -> Int? {
        guard let oracle = target.oracle else { return nil }
        return try await oracle.letters(of: subject(of: user))
    }
}
