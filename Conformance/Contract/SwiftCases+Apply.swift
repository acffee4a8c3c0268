import PowerSyncWire

/// Groups C and E: many operations at once.
extension SwiftCases {
    static let applyCases: [(String, Body)] = [
        ("60", thousandOperationsOnThreeTables), ("61", fiftyTransactionsOfTwenty),
        ("100", rejectionsAreTheirOwners), ("106", randomOperationsMakeWhatAModelMakes),
    ]

    private static func thousandOperationsOnThreeTables(
        _ session: ContractSession
    ) async throws -> ContractVerdict {
        var operations: [JSON] = []
        var rows: [(table: String, id: String, column: String, value: JSON)] = []
        for number in 0..<334 {
            let (list, todo, item) = (
                try await session.text("${fresh}"), try await session.text("${fresh}"),
                try await session.text("${fresh}")
            )
            operations.append(Self.list(list, name: "list \(number)"))
            operations.append(
                operation(
                    "PUT", "todos", todo,
                    [
                        JSONMember("list_id", .string(list)),
                        JSONMember("description", .string("todo \(number)")),
                    ]))
            operations.append(operation("PUT", "inventory", item, [JSONMember("qty", .integer(number))]))
            rows.append(("lists", list, "name", .string("list \(number)")))
            rows.append(("todos", todo, "description", .string("todo \(number)")))
            rows.append(("inventory", item, "qty", .integer(number)))
        }
        let answers = try await session.upload([Array(operations.prefix(1_000))])
        let answer = try require(answers.first, "there is no answer")
        try require(answer.status == 200, "the answer is \(answer.status)")
        let limit = Duration.seconds(5) * session.target.patience
        try require(answer.time < limit, "the answer took \(answer.time)")
        guard session.target.oracle != nil else { return .notApplicable("no oracle") }
        for row in rows.prefix(1_000) {
            let found = try await session.row(row.table, row.id)?[row.column]
            guard found == row.value else {
                return .unsafe("\(row.table) \(row.id) has \(found?.text ?? "no such row")")
            }
        }
        return .passed
    }

    private static func fiftyTransactionsOfTwenty(_ session: ContractSession) async throws -> ContractVerdict
    {
        var transactions: [[JSON]] = []
        var last = ""
        for number in 0..<50 {
            var transaction: [JSON] = []
            for place in 0..<20 {
                last = try await session.text("${fresh}")
                transaction.append(list(last, name: "\(number) \(place)"))
            }
            transactions.append(transaction)
        }
        let answers = try await session.upload(transactions)
        let answer = try require(answers.first, "there is no answer")
        try require(answer.status == 200, "the answer is \(answer.status)")
        try require(
            answer.results == Array(repeating: "success", count: 50), "the results are \(answer.results)")
        guard session.target.oracle != nil else { return .passed }
        let row = try await session.row("lists", last)
        return row?["name"] == .string("49 19") ? .passed : .unsafe("the last row is not there")
    }

    private static func rejectionsAreTheirOwners(_ session: ContractSession) async throws -> ContractVerdict {
        let id = try await session.text("${fresh}")
        let answers = try await session.upload([
            [operation("PUT", "inventory", id, [JSONMember("qty", .integer(-1))])]
        ])
        let result = answers.first?.json?["results"]?.arrayValue?.first
        let rejection = try require(result?["rejection_id"]?.stringValue, "there is no rejection_id")
        let own = try await session.get("${path.rejections}", as: "alice")
        try require(own.status == 200, "the rejections are answered \(own.status)")
        let entry = try require(
            own.json?["rejections"]?.arrayValue?.first { $0["id"]?.stringValue == rejection },
            "the owner does not see the rejection")
        try require(entry["row_id"]?.stringValue == id, "row_id is \(entry["row_id"]?.text ?? "missing")")
        try require(entry["error_code"] == .string("CHECK_VIOLATION"), "the code is another one")
        let others = try await session.get("${path.rejections}", as: "bob")
        try require(others.status == 200, "the rejections of another user are answered \(others.status)")
        let text = String(decoding: others.body, as: UTF8.self)
        try require(!text.contains(rejection), "another user sees the rejection")
        var acknowledgement = ContractRequest()
        acknowledgement.path = "${path.rejections}/\(rejection)/ack"
        acknowledgement.user = "bob"
        let foreign = try await session.answer(to: acknowledgement)
        try require(foreign.status == 404, "another user's ack is answered \(foreign.status)")
        acknowledgement.user = "alice"
        for _ in 0..<2 {
            let answer = try await session.answer(to: acknowledgement)
            try require(answer.status == 204 || answer.status == 200, "an ack is answered \(answer.status)")
        }
        return .passed
    }

    /// Random transactions on twenty rows, one in ten operations of which a constraint refuses; with it goes its
    /// transaction.
    private static func randomOperationsMakeWhatAModelMakes(
        _ session: ContractSession
    ) async throws -> ContractVerdict {
        let seed = UInt64.random(in: 1...UInt64.max)
        var random = RandomSequence(seed: seed)
        var ids: [String] = []
        for _ in 0..<20 { ids.append(try await session.text("${fresh}")) }
        var model: [String: Int] = [:]
        var (sent, told) = (0, 0)
        while sent < 500 {
            var operations: [JSON] = []
            var next = model
            var isGood = true
            for _ in 0...random.number(below: 5) {
                let id = ids[random.number(below: ids.count)]
                let isBad = random.number(below: 10) == 0
                let value = isBad ? -1 : random.number(below: 1_000)
                let data = [JSONMember("qty", .integer(value))]
                switch random.number(below: 4) {
                case 0:
                    operations.append(operation("DELETE", "inventory", id))
                    next[id] = nil
                case 1:
                    operations.append(operation("PATCH", "inventory", id, data))
                    guard next[id] != nil else { continue }
                    next[id] = value
                    isGood = isGood && !isBad
                default:
                    operations.append(operation("PUT", "inventory", id, data))
                    next[id] = value
                    isGood = isGood && !isBad
                }
            }
            sent += operations.count
            let answers = try await session.upload([operations])
            let answer = try require(answers.first, "seed \(seed): there is no answer")
            try require(answer.status == 200, "seed \(seed): the answer is \(answer.status)")
            if isGood { model = next }
            told += answer.outcomes.count
        }
        if session.target.profile == .l2 {
            try require(told == sent, "seed \(seed): of \(sent) operations \(told) are told")
        }
        for id in ids {
            let found = try await session.row("inventory", id)?["qty"]
            guard found == model[id].map({ JSON.integer($0) }) else {
                return .unsafe("seed \(seed): \(id) is \(found?.text ?? "missing")")
            }
        }
        return .passed
    }
}

/// Numbers by chance that a seed repeats (SplitMix64).
struct RandomSequence {
    private var state: UInt64

    /// Begins at a seed.
    init(seed: UInt64) { state = seed }

    /// The next number from 0 on.
    mutating func number(below limit: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var bits = state
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((bits ^ (bits >> 31)) % UInt64(limit))
    }
}
