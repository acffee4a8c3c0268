import PowerSync
import PowerSyncSystem
import PowerSyncWire

/// How commands are read and begun.
extension ClientRun {
    /// How many values a command may have: each takes up to a hundred bytes.
    ///
    /// Of two members of a name one would be lost.
    private static let jsonLimits = JSONLimits(values: 2_000_000, refusesDuplicateNames: true)
    /// What a command counts beside its bytes, so that there are 2,000 at a time at most.
    private static let commandCost = 64 << 10
    /// How many watches and waits may be open at a time; one more is refused.
    private static let openLimit = 1024

    /// Waits until there is room for one more command; returns how much it takes, to be given back.
    func makeRoom(for line: CommandLines.Line) async throws -> Int {
        var cost = Self.commandCost
        if case .text(let bytes) = line { cost += bytes.count }
        try await budget.take(cost, until: .now + .seconds(365 * 24 * 60 * 60))
        return cost
    }

    /// Reads a command; one that makes no sense is answered at once.
    func read(_ line: CommandLines.Line) -> ClientRequest? {
        let json: JSON
        switch line {
        case .tooLong(let beginning):
            refuse(beginning, ClientError("the command is longer than a command may be"))
            return nil
        case .text(let bytes):
            do throws(WireError) {
                json = try JSON.parse(bytes, limits: Self.jsonLimits)
            } catch {
                refuse(bytes, ClientError("wrong JSON: \(error.message)"))
                return nil
            }
        }
        do throws(ClientError) {
            return try ClientRequest(json)
        } catch {
            output.put(
                (json.objectMembers == nil
                    ? ClientAnswer.unreadable(error) : ClientAnswer.failure(json["id"], error)).text)
            return nil
        }
    }

    /// Answers a line that cannot be read by the id that stands at its beginning; where there is none it is an event.
    private func refuse(_ beginning: [UInt8], _ error: ClientError) {
        let id = JSON.leadingMember("id", of: beginning, limits: Self.jsonLimits)
        let line = id.map { ClientAnswer.failure($0, error) } ?? ClientAnswer.unreadable(error)
        output.put(line.text)
    }

    /// Starts what a command asks for.
    ///
    /// - Parameters:
    ///   - request: the command.
    ///   - cost: how much room it takes while it works; what waits takes none.
    ///   - working: the tasks that are waited for at the end.
    ///   - waiting: the tasks that are ended at the end.
    func start(
        _ request: ClientRequest, cost: Int, _ working: inout DiscardingTaskGroup,
        _ waiting: inout DiscardingTaskGroup
    ) {
        let arrival = ContinuousClock.now
        let last = order.last
        switch request.operation {
        case .change(let change):
            let turn = order.take()
            work(cost, &working) {
                await answer(request.id) {
                    try await order.wait(for: last)
                    return try await perform(change)
                } andThen: {
                    order.end(turn)
                }
            }
        case .look(let look):
            let place = AnswerPlace(among: places, output)
            work(cost, &working) {
                await answer(request.id) {
                    try await order.wait(for: last)
                    return try await perform(look, at: place)
                } andThen: {
                    place.leave()
                }
            }
        case .watch(let statement, let throttle):
            budget.giveBack(cost)
            let watch = OpenWatch(request.id)
            stayOpen(request.id, cost, &waiting, from: { watches.add(watch) }) {
                await watch.run { await follow(watch, statement, throttle: throttle, after: last) }
                watches.remove(watch)
            }
        case .unwatch(let id):
            let ended = watches.all(of: id)
            work(cost, &working) {
                await answer(request.id) {
                    guard !ended.isEmpty else {
                        throw ClientError("no watch with this id is open", code: .invalidState)
                    }
                    for watch in ended { try await watch.end() }
                    return .members([])
                }
            }
        case .wait(let condition, let timeout):
            budget.giveBack(cost)
            stayOpen(request.id, cost, &waiting) {
                await answer(request.id) {
                    try await operations.wait(
                        for: condition, timeout: timeout, after: { try await order.wait(for: last) })
                    let waited = Int((ContinuousClock.now - arrival) / .milliseconds(1))
                    return .members([JSONMember("ms", .integer(waited))])
                }
            }
        case .close: preconditionFailure("whoever reads commands ends with this one")
        }
    }

    /// Runs what is waited for at the end.
    private func work(
        _ cost: Int, _ working: inout DiscardingTaskGroup, _ body: @escaping @Sendable () async -> Void
    ) {
        inWork.change { $0 += 1 }
        working.addTask {
            await body()
            budget.giveBack(cost)
            inWork.change { $0 -= 1 }
        }
    }

    /// Runs what may stay open for ever, unless there is too much of that.
    ///
    /// - Parameters:
    ///   - id: the command's id.
    ///   - cost: how much room the command took.
    ///   - waiting: the tasks that are ended at the end.
    ///   - begin: called before it runs, if it does.
    ///   - body: what runs.
    private func stayOpen(
        _ id: JSON?, _ cost: Int, _ waiting: inout DiscardingTaskGroup, from begin: () -> Void = {},
        _ body: @escaping @Sendable () async -> Void
    ) {
        // What a command counts beside its bytes is for work.
        let bytes = cost - Self.commandCost
        let refusal = open.withLock { open -> String? in
            if open.count == Self.openLimit { return "\(Self.openLimit) watches and waits are open" }
            if open.bytes + bytes > lineLimit {
                return "the open watches and waits have commands of \(open.bytes) bytes, and no room for more"
            }
            open.count += 1
            open.bytes += bytes
            return nil
        }
        if let refusal {
            let error = ClientError(refusal, code: .invalidState)
            return output.put(ClientAnswer.failure(id, error).text)
        }
        begin()
        waiting.addTask {
            await body()
            open.withLock { open in
                open.count -= 1
                open.bytes -= bytes
            }
        }
    }
}
