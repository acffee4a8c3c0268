import PowerSyncWire

/// When everything has come that will come (Tests/Fixtures/service/README.md, Comparing).
extension ScenarioRun {
    /// Waits until everything has come, and compares.
    ///
    /// - Parameter lines: what the real service sent, a client.
    /// - Returns: the differences.
    /// - Throws: `StackError` for what did not come in time.
    func settle(_ lines: [String: RecordedLines]) async throws -> [String] {
        for (name, recording) in lines {
            guard clients[name] != nil else { throw StackError(.file, "no client \(name) was opened") }
            clients[name]?.apply(recording)
        }
        try await waitForFirstAnswers()
        let isRunning = await service.isRunning
        if isRunning, hasWritten, scenario.streamLimit == nil { try await probe() }
        hasWritten = false
        if isRunning { try await waitUntilNobodyIsBehind() }
        drain()
        var differences = compare()
        if !differences.isEmpty {
            // What was sent may still be on its way.
            try await waitForSilence()
            differences = compare()
        }
        if omitted.isEmpty { compareLines(lines) }
        return differences
    }

    /// Waits until the service ends a stream, and compares.
    ///
    /// - Parameter recorded: how and with which lines the real service did.
    /// - Returns: the differences.
    /// - Throws: `StackError` if it does not end.
    func waitEnd(_ recorded: RecordedEnd) async throws -> [String] {
        let name = recorded.client
        guard let stream = clients[name]?.stream else {
            throw StackError(.file, "no client \(name) was opened")
        }
        try await Deadline.wait(
            .seconds(recorded.seconds + 15), for: "the service to end the stream of \(name)",
            seen: {
                clients[name]?.drain()
                return clients[name]?.progress
            }
        ) { stream.end != nil ? () : nil }
        for (name, recording) in recorded.lines { clients[name]?.apply(recording) }
        drain()
        var differences = compare()
        if omitted.isEmpty { compareLines(recorded.lines, withTokens: true) }
        guard let client = clients[name] else { return differences }
        noteComparison()
        if client.stream.end != recorded.ended {
            let end = client.stream.end?.rawValue ?? "not at all"
            differences.append(
                "\(name): ended \(end) \(client.stream.reason), recorded \(recorded.ended.rawValue)")
        }
        differences += tokenDifferences(client).map { "\(name): \($0)" }
        clients[name]?.isGone = true
        return differences
    }

    private func tokenDifferences(_ client: ScenarioClient) -> [String] {
        var differences: [String] = []
        let (old, new) = (client.recorded.tokenSeconds, client.received.tokenSeconds)
        // Others may come between: they only keep the connection alive.
        if let missing = old.first(where: { second in !new.contains { abs($0 - second) <= 1 } }) {
            differences.append("token_expires_in \(missing) did not come, but \(new)")
        }
        if let last = old.last, new.last != last {
            differences.append(
                "the last token_expires_in is \(new.last.map(String.init) ?? "missing"), recorded \(last)")
        }
        let earliest = client.opened + .seconds(ScenarioToken.lifetime(client.opening.claims) - 2)
        if client.stream.lastArrival < earliest {
            let seconds = client.opened.duration(to: client.stream.lastArrival).components.seconds
            differences.append("ended after \(seconds) s, before its token did")
        }
        return differences
    }

    func drain() { for name in clients.keys { clients[name]?.drain() } }

    private func waitForFirstAnswers() async throws {
        try await Deadline.wait(
            Self.patience, pause: .milliseconds(5), for: "the first checkpoint of every new stream",
            seen: { clients.values.filter { !$0.hasFirstAnswer }.map(\.progress).joined(separator: "; ") }
        ) {
            drain()
            return clients.values.allSatisfy { $0.isGone || $0.hasFirstAnswer } ? () : nil
        }
    }

    /// Waits until a client of its own has seen its write checkpoint: then everything before it is published.
    private func probe() async throws {
        probes += 1
        let (user, device) = ("conformance-probe", "probe-\(probes)")
        let access = await service.access
        guard let wanted = try await access.writeCheckpoint(user: user, client: device) else {
            throw StackError(.answer, "the service gave the probe no write checkpoint")
        }
        let nothing = JSON.object([
            JSONMember("raw_data", .bool(true)), JSONMember("client_id", .string(device)),
            JSONMember("buckets", .array([])),
            JSONMember(
                "streams",
                .object([
                    JSONMember("include_defaults", .bool(false)), JSONMember("subscriptions", .array([])),
                ])),
        ])
        let stream = try access.open(
            user: user, claims: .object([]), fields: [("Accept", "application/x-ndjson")], body: nothing)
        defer { stream.close() }
        var state = SyncStreamState(isRecorded: false)
        try await Deadline.wait(
            Self.patience, pause: .milliseconds(2), for: "the probe to see write checkpoint \(wanted)",
            seen: { "\(state.writeCheckpoint ?? "none") \(stream.reason)" }
        ) {
            for line in stream.takeLines() { state.apply(line) }
            if let end = stream.end {
                throw StackError(.answer, "the probe's stream ended (\(end.rawValue)) \(stream.reason)")
            }
            return state.writeCheckpoint.flatMap { Int64($0) }.map { $0 >= wanted } == true ? () : nil
        }
    }

    private func waitUntilNobodyIsBehind() async throws {
        let access = await service.access
        var last: Double?
        var hasGauge = true
        try await Deadline.wait(
            Self.patience, pause: .milliseconds(2), for: "every stream to have the newest checkpoint",
            seen: { "\(last ?? -1) behind" }
        ) {
            last = try await access.sessionsBehind()
            hasGauge = last != nil
            return last == 0 || last == nil ? () : nil
        }
        guard !hasGauge else {
            // Without a probe nothing tells that what was written is published.
            if scenario.streamLimit != nil { try await waitForSilence() }
            return
        }
        guard !service.isOwn else {
            throw StackError(.answer, "the metrics of this service have no powersync_sessions_behind")
        }
        noteMissingGauge()
        try await waitForSilence()
    }

    /// Waits until no line has come for half a second.
    private func waitForSilence() async throws {
        let start = ContinuousClock.now
        try await Deadline.wait(
            Self.patience, pause: .milliseconds(20), for: "half a second without a line",
            seen: { clients.values.map(\.progress).joined(separator: "; ") }
        ) {
            let last = clients.values.map(\.stream.lastArrival).max() ?? start
            return max(last, start) + .milliseconds(500) < .now ? () : nil
        }
        drain()
    }

    /// Waits until a redeployed sync config is the one that is served: its buckets have a higher number.
    func waitForNewNumber(after index: Int) async throws {
        let former = clients.values.flatMap { $0.received.names.values }.compactMap { BucketLabel($0).number }
            .max()
        let openings = scenario.steps.map { step -> RecordedOpening? in
            if case .open(let opening) = step { opening } else { nil }
        }
        guard let former,
            let opening = (openings[index...] + openings[..<index]).lazy.compactMap({ $0 }).first
        else { return }
        let access = await service.access
        var seen: [String] = []
        try await Deadline.wait(
            Self.patience, pause: .milliseconds(100), for: "buckets with a number above \(former)",
            seen: { seen.joined(separator: ", ") }
        ) {
            let stream = try access.open(
                user: opening.user, claims: opening.claims, fields: [("Accept", "application/x-ndjson")],
                body: .object([
                    JSONMember("raw_data", .bool(true)), JSONMember("client_id", .string("probe")),
                ]))
            defer { stream.close() }
            var state = SyncStreamState(isRecorded: false)
            try await Deadline.wait(Self.patience, for: "the first checkpoint of a probe") {
                for line in stream.takeLines() { state.apply(line) }
                return state.completions > 0 || stream.end != nil ? () : nil
            }
            seen = state.listed.values.map(\.name)
            return seen.contains { (BucketLabel($0).number ?? 0) > former } ? () : nil
        }
    }
}
