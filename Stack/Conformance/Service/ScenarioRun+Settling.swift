import PowerSyncWire

/// When everything has come that will come (Tests/Fixtures/service/README.md, Comparing).
extension ScenarioRun {
    /// Waits until everything has come, and compares.
    ///
    /// - Parameters:
    ///   - lines: what the real service sent, a client.
    ///   - index: which step that is.
    /// - Returns: the differences.
    /// - Throws: `StackError` for what did not come in time, and for a service that has ended.
    func settle(_ lines: [String: RecordedLines], at index: Int) async throws -> [String] {
        try await service.requireLife()
        for (name, recording) in lines {
            guard clients[name] != nil else { throw StackError(.file, "no client \(name) was opened") }
            clients[name]?.apply(recording)
        }
        try await waitForFirstAnswers()
        if await service.isRunning {
            if !isPublished, mayProbe(at: index) { try await probe() }
            try await waitUntilNobodyIsBehind()
        }
        drain()
        var differences = compare()
        if !differences.isEmpty {
            // What was sent may still be on its way.
            try await waitForSilence(.milliseconds(500))
            differences = compare()
        }
        try await service.requireLife()
        compareLines(lines)
        for name in clients.keys.sorted() where clients[name]?.isGone == false {
            if let torn = clients[name]?.settle(after: transactions) {
                differences.append("\(name): \(torn)")
            }
        }
        hasWritten = false
        transactions = 0
        return differences
    }

    /// Compares again what clients know that have settled, with the lines that came behind that.
    func compareWhatCameLast() async throws {
        guard !hasWritten, await service.isRunning else { return }
        do {
            try await service.requireLife()
            try await waitForSilence(silence)
        } catch let error as CancellationError {
            throw error
        } catch {
            return fail(
                "behind the last step: \(error); the log of the service ends: \(await service.logEnd)")
        }
        for difference in compare(where: { $0.settledChanges != nil }) {
            fail("behind the last step: \(difference)")
        }
        compareLines([:], where: { $0.settledChanges != nil })
    }

    /// Whether the service lets one stream more in than the scenario has and opens before it settles again; of one
    /// that was closed it may not know yet.
    func mayProbe(at index: Int) -> Bool {
        guard let limit = scenario.streamLimit else { return true }
        let open = clients.values.filter { !$0.isGone && $0.stream.end == nil }.count
        let next = scenario.steps[(index + 1)...].prefix { if case .settle = $0 { false } else { true } }
            .filter { if case .open = $0 { true } else { false } }.count
        return open + next + 1 <= limit
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
        try await service.requireLife()
        try await Deadline.wait(
            .seconds(recorded.seconds + 15), for: "the service to end the stream of \(name)",
            seen: {
                clients[name]?.drain()
                return clients[name]?.progress
            }
        ) { stream.end != nil ? () : nil }
        for (name, recording) in recorded.lines { clients[name]?.apply(recording) }
        drain()
        try await service.requireLife()
        var differences = compare(ending: name)
        compareLines(recorded.lines, withTokens: true)
        guard let client = clients[name] else { return differences }
        noteComparison()
        if client.stream.end != recorded.ended {
            let end = client.stream.end?.rawValue ?? "not at all"
            differences.append(
                "\(name): ended \(end) \(client.stream.reason), recorded \(recorded.ended.rawValue)")
        }
        differences += tokenDifferences(client).map { "\(name): \($0)" }
        let seconds = client.opened.duration(to: client.stream.ended ?? .now) / .seconds(1)
        if abs(seconds - recorded.afterSeconds) > 3 {
            differences.append(
                "\(name): ended after \((seconds * 10).rounded() / 10) s, recorded after \(recorded.afterSeconds) s"
            )
        }
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
    func probe() async throws {
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
        isPublished = true
    }

    /// Waits until every stream has the newest checkpoint.
    ///
    /// - Throws: `StackError` if they do not get it in time, or nothing tells.
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
            if !isPublished { try await waitForSilence(.milliseconds(500)) }
            return
        }
        guard !service.isOwn else {
            throw StackError(.answer, "the metrics of this service have no powersync_sessions_behind")
        }
        noteMissingGauge()
        try await waitForSilence(.milliseconds(500))
    }

    /// Waits until no line has come for a while.
    private func waitForSilence(_ length: Duration) async throws {
        let pause = Duration.milliseconds(10)
        // Counted in pauses: a machine that stands still brings no line, but that is no silence of the service.
        var quiet = Duration.zero
        var last: ContinuousClock.Instant?
        try await Deadline.wait(
            Self.patience, pause: pause, for: "\(length) without a line",
            seen: { clients.values.map(\.progress).joined(separator: "; ") }
        ) {
            let arrival = clients.values.map(\.stream.lastArrival).max()
            quiet = arrival == last ? quiet + pause : .zero
            last = arrival
            return quiet > length ? () : nil
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
