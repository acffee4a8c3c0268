import PowerSyncCrypto
import PowerSyncWire
import PowerSyncYAML

extension CaseReader {
    /// Reads an entry of the catalogue.
    ///
    /// - Parameter node: The entry.
    /// - Returns: The case.
    /// - Throws: `ContractError` for a member that is missing, unknown or of another kind.
    func contractCase(_ node: YAMLNode) throws(ContractError) -> ContractCase {
        try refuseUnknown(
            node,
            [
                "number", "title", "level", "severity", "security", "needs", "alone", "backend", "driver",
                "test",
                "given", "request", "requests", "expect", "read", "later",
            ])
        guard let number = CaseNumber(try text(required(node, "number"))) else {
            throw error(node, "number: expected one such as 46 or 44a")
        }
        let severity = try word(required(node, "severity"), ContractSeverity.self)
        let isSecurity = try node["security"].map(bool) ?? false
        guard severity == .must || !isSecurity else { throw error(node, "what is about security is a must") }
        let driver = try driver(node)
        let (requests, expectations) = try steps(node, driver)
        return ContractCase(
            number: number, title: try text(required(node, "title")),
            level: try word(required(node, "level"), ContractProfile.self), severity: severity,
            isSecurity: isSecurity,
            needs: try node["needs"].map { (node) throws(ContractError) in try list(node, "needs") } ?? [],
            isAlone: try node["alone"].map(bool) ?? false, backend: try node["backend"].map(texts) ?? [:],
            driver: driver, given: try node["given"].map(transactions) ?? [], requests: requests,
            expectations: expectations,
            readings: try node["read"].map { (node) throws(ContractError) in
                try elements(node, "read").map(reading)
            } ?? [], later: try node["later"].map(text))
    }

    private func required(_ node: YAMLNode, _ name: String) throws(ContractError) -> YAMLNode {
        guard let value = node[name] else { throw error(node, "\(name) is missing") }
        return value
    }

    private func refuseUnknown(_ node: YAMLNode, _ known: [String]) throws(ContractError) {
        for (key, _) in try members(node, "entry") {
            let name = try text(key)
            guard known.contains(name) else {
                throw error(key, "unknown member; known are \(known.joined(separator: ", "))")
            }
        }
    }

    private func driver(_ node: YAMLNode) throws(ContractError) -> ContractCase.Driver {
        guard let driver = node["driver"] else {
            if let test = node["test"] { throw error(test, "test: only with driver: swift") }
            return .requests
        }
        guard driver.string == "swift" else { throw error(driver, "expected swift") }
        for name in ["given", "request", "requests", "expect", "read"] where node[name] != nil {
            throw error(node, "\(name): not beside driver: swift")
        }
        return try node["test"].map { (node) throws(ContractError) in .test(try text(node)) } ?? .swift
    }

    /// The requests with what each must be answered: one expectation is that of all.
    private func steps(
        _ node: YAMLNode, _ driver: ContractCase.Driver
    ) throws(ContractError) -> ([ContractRequest], [ContractExpectation]) {
        guard driver == .requests else { return ([], []) }
        let requests: [ContractRequest]
        switch (node["request"], node["requests"]) {
        case (let one?, nil): requests = [try request(one)]
        case (nil, let several?): requests = try elements(several, "requests").map(request)
        default: throw error(node, "expected request or requests")
        }
        let expected = try required(node, "expect")
        guard let several = expected.elements else {
            return (requests, Array(repeating: try expectation(expected), count: requests.count))
        }
        guard several.count == requests.count else {
            throw error(expected, "expected one entry, or one for each of the requests")
        }
        return (requests, try several.map(expectation))
    }

    private func request(_ node: YAMLNode) throws(ContractError) -> ContractRequest {
        var request = ContractRequest()
        for (key, value) in try members(node, "request") {
            switch try text(key) {
            case "as": request.user = try text(value)
            case "token": request.token = try word(value, TokenMode.self)
            case "session": request.session = try word(value, ContractSignIn.Mode.self)
            case "method": request.method = try text(value)
            case "path": request.path = try text(value)
            case "headers": request.fields = try object(value)
            case "dialect": request.dialect = try word(value, ContractDialect.self)
            case "client": request.client = try text(value)
            case "times": request.times = try count(value)
            case "at_once": request.isAtOnce = try bool(value)
            case "raw": request.raw = try text(value)
            case "transactions", "body", "text", "repeat", "bytes":
                guard request.content == .nothing else { throw error(key, "a second body") }
                request.content = try content(try text(key), value)
            default: throw error(key, "unknown member of a request")
            }
        }
        return request
    }

    private func content(_ kind: String, _ node: YAMLNode) throws(ContractError) -> ContractRequest.Content {
        switch kind {
        case "transactions": return .transactions(try transactions(node))
        case "body": return .json(try json(node))
        case "text": return .texts([ContractRequest.RepeatedText(text: try text(node), times: 1)])
        case "bytes":
            guard let bytes = Base64.decode(try text(node)) else { throw error(node, "expected base64") }
            return .bytes(bytes)
        default:
            return .texts(
                try elements(node, kind).map { (node) throws(ContractError) in
                    try refuseUnknown(node, ["text", "times"])
                    return ContractRequest.RepeatedText(
                        text: try text(required(node, "text")), times: try node["times"].map(count) ?? 1)
                })
        }
    }

    private func expectation(_ node: YAMLNode) throws(ContractError) -> ContractExpectation {
        var expectation = ContractExpectation()
        for (key, value) in try members(node, "expect") {
            switch try text(key) {
            case "status":
                expectation.statuses = try elements(value, "status").map { (node) throws(ContractError) in
                    try count(node)
                }
            case "outcomes": expectation.outcomes = try list(value, "outcomes")
            case "results": expectation.results = try list(value, "results")
            case "body": expectation.body = try json(value)
            case "headers": expectation.fields = try object(value)
            case "never": expectation.never = try list(value, "never")
            case "within_ms": expectation.within = .milliseconds(try count(value))
            case "may_cut": expectation.mayCut = try bool(value)
            default: throw error(key, "unknown member of an expectation")
            }
        }
        return expectation
    }

    private func reading(_ node: YAMLNode) throws(ContractError) -> ContractReading {
        if let letters = node["letters"] {
            try refuseUnknown(node, ["letters", "user"])
            guard let count = letters.int, count >= 0 else { throw error(letters, "expected a number") }
            return .letters(count, user: try node["user"].map(text) ?? "alice")
        }
        try refuseUnknown(node, ["table", "id", "row", "untouched", "unchanged"])
        let state: ContractReading.State
        switch (node["row"], node["unchanged"]) {
        case (nil, let unchanged?):
            guard try bool(unchanged) else { throw error(unchanged, "expected true, or no such member") }
            state = .unchanged
        case (let row?, nil): state = row.isNull ? .absent : .present(try object(row))
        default: throw error(node, "expected row or unchanged")
        }
        return .row(
            ContractReading.Row(
                table: try text(required(node, "table")), id: try text(required(node, "id")), state: state,
                untouched: try node["untouched"].map { (node) throws(ContractError) in
                    try list(node, "untouched")
                } ?? []))
    }
}
