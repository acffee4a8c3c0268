import PowerSync
import PowerSyncSystem
import PowerSyncWire

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// One run of the tool: takes commands, does them beside each other, answers in order of completion.
package struct ClientRun: Sendable {
    /// Why no more commands are taken.
    private enum End {
        case inputEnded
        case close(JSON?)
        case failed(any Error)
    }

    /// The largest line in bytes.
    package static let lineLimit = 64 << 20
    /// The most bytes that the rows of one answer may have.
    package static let answerLimit = 64 << 20
    /// How many reads and watches make answers at a time: as many as the SDK has connections that read.
    private static let placeCount = 4
    /// How many bytes of commands are in work at a time; what comes beyond is read later.
    private static let workLimit = 128 << 20

    /// The watches and waits that are open.
    struct Open {
        var count = 0
        var bytes = 0
    }

    let operations: ClientOperations
    let output: AnswerOutput
    let order = CommandOrder()
    /// Where answers that may be large are made.
    let places: Budget
    let answerLimit: Int
    /// The largest command in bytes, and how many those of all open watches and waits may have.
    let lineLimit: Int
    /// What commands in work may take.
    let budget: Budget
    /// How many commands are in work that are waited for at the end.
    let inWork = AsyncValue(0)
    let open = Lock(Open())
    let watches = OpenWatches()
    private let checkpoints: UntoldEvents<Date>
    private let refusals: UntoldEvents<RefusedUpload>
    /// How long commands in work may take at the end.
    private let patience: Duration

    private init(
        _ operations: ClientOperations, checkpoints: UntoldEvents<Date>,
        refusals: UntoldEvents<RefusedUpload>, output: AnswerOutput, lineLimit: Int, answerLimit: Int,
        patience: Duration, poller: Poller
    ) {
        self.operations = operations
        self.checkpoints = checkpoints
        self.refusals = refusals
        self.output = output
        self.lineLimit = lineLimit
        self.answerLimit = answerLimit
        self.patience = patience
        places = Budget(Self.placeCount, poller: poller)
        budget = Budget(Self.workLimit, poller: poller)
    }

    /// Opens the database, takes commands until `close`, the end of the input or cancellation, and closes it.
    ///
    /// - Parameters:
    ///   - options: what the tool is started with.
    ///   - input: the descriptor with the commands; stays the caller's.
    ///   - lineLimit: the largest line in bytes, and how many the commands of all open watches and waits may have.
    ///   - answerLimit: the most bytes that the rows of one answer may have.
    ///   - patience: how long commands may take that are in work when no more are taken; then they are given up, and a
    ///   statement that runs is undone.
    ///   - write: writes a line and its end with one call; may block. What it throws ends the run, and is thrown by
    ///   the end of the session.
    ///   - session: closes what was opened.
    /// - Returns: the exit status.
    /// - Throws: `PowerSyncError` if the database cannot be opened or closed, `CommandError`, `SystemError`.
    package static func run(
        _ options: ClientOptions, input: Int32, lineLimit: Int = ClientRun.lineLimit,
        answerLimit: Int = ClientRun.answerLimit, finishingWithin patience: Duration = Session.patience,
        write: @escaping @Sendable (String) throws -> Void, session: Session
    ) async throws -> Int32 {
        // Trouble that the SDK copes with is of interest, and standard error is the place for it.
        let log = LogOutput.onStandardError(session)
        let output = AnswerOutput(write)
        session.onEnd {
            await output.flush()
            if let failure = output.failure { throw failure }
        }
        session.onHurry { output.abandon() }
        let poller = try session.poller()
        let (checkpoints, refusals) = (UntoldEvents<Date>(), UntoldEvents<RefusedUpload>())
        let operations = try await ClientOperations.open(
            options, logger: DefaultLogger(minSeverity: .warning, writers: [log]), session: session,
            onCheckpoint: { checkpoints.add($0) }, onRefusal: { refusals.add($0) })
        let run = ClientRun(
            operations, checkpoints: checkpoints, refusals: refusals, output: output, lineLimit: lineLimit,
            answerLimit: answerLimit, patience: patience, poller: poller)
        return try await withThrowingTaskGroup(of: Int32.self) { group in
            group.addTask { try await run.serve(CommandInput(input, limit: lineLimit)) }
            group.addTask {
                // Nobody learns any more what becomes of commands. The session tells why.
                try await output.waitForFailure()
                return 1
            }
            defer { group.cancelAll() }
            return try await group.next() ?? 1
        }
    }

    // MARK: Taking commands

    private func serve(_ input: CommandInput) async throws -> Int32 {
        output.put(ClientAnswer.ready.text)
        let end = await withDiscardingTaskGroup { waiting in
            waiting.addTask { await tell(checkpoints, ClientAnswer.checkpoint) }
            waiting.addTask { await tell(refusals, ClientAnswer.rejected) }
            let end = await withDiscardingTaskGroup { working in
                var input = input
                var reason = End.inputEnded
                do {
                    while let line = try await input.next() {
                        let cost = try await makeRoom(for: line)
                        let request = read(line)
                        if case .close? = request?.operation {
                            reason = .close(request?.id)
                            break
                        }
                        if let request {
                            start(request, cost: cost, &working, &waiting)
                        } else {
                            budget.giveBack(cost)
                        }
                        await output.room()
                    }
                } catch {
                    reason = .failed(error)
                }
                await finishWork()
                working.cancelAll()
                return reason
            }
            // All that was asked for is done or given up, and what still waits waits for nothing any more.
            waiting.cancelAll()
            return end
        }
        tellRest()
        try Task.checkCancellation()
        return try await close(end)
    }

    /// Waits until nothing is in work, no longer than that may take.
    private func finishWork() async {
        await withTaskGroup(of: Void.self) { group in
            // Whatever ends either wait, it is the end of both.
            group.addTask { _ = try? await inWork.wait { $0 == 0 } }
            group.addTask { _ = try? await ContinuousClock().sleep(for: patience) }
            _ = await group.next()
            group.cancelAll()
        }
    }

    // MARK: Answering

    /// Does something and answers with what came of it.
    ///
    /// - Parameters:
    ///   - id: the command's id.
    ///   - body: does it and returns what the answer says.
    ///   - next: called when the answer is on its way, before there is room for it.
    func answer(
        _ id: JSON?, _ body: () async throws -> ClientAnswer.Content, andThen next: () -> Void = {}
    ) async {
        let line: String
        do {
            line = ClientAnswer.success(id, try await body())
        } catch {
            line = ClientAnswer.failure(id, error).text
        }
        output.put(line)
        next()
        await output.room()
    }

    /// Tells of each event, until the task is cancelled.
    private func tell<Content: Sendable>(
        _ events: UntoldEvents<Content>, _ answer: (UntoldEvents<Content>.Event) -> JSON
    ) async {
        while true {
            // The end of the task is what ends it.
            guard let event = try? await events.next() else { return }
            output.put(answer(event).text)
            await output.room()
        }
    }

    /// Tells of what has happened and nobody tells of any more.
    private func tellRest() {
        while let event = checkpoints.take() { output.put(ClientAnswer.checkpoint(event).text) }
        while let event = refusals.take() { output.put(ClientAnswer.rejected(event).text) }
    }

    // MARK: The end

    private func close(_ end: End) async throws -> Int32 {
        switch end {
        case .failed(let error): throw error
        case .inputEnded:
            try await operations.close()
            // An upload that was on its way has ended.
            tellRest()
            return 0
        case .close(let id):
            do {
                try await operations.close()
            } catch {
                output.put(ClientAnswer.failure(id, error).text)
                return 1
            }
            tellRest()
            output.put(ClientAnswer.success(id))
            return 0
        }
    }
}
