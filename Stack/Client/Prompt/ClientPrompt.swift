import PowerSync
import PowerSyncSystem

/// One run of the tool as a prompt: SQL comes in, tables go out, and what happens meanwhile is told.
package struct ClientPrompt: Sendable {
    /// What Ctrl-C on an empty line says at the second time.
    private static let wayOut = "Ctrl-D or .quit leaves"

    let operations: ClientOperations
    let options: ClientOptions
    let console: any PromptConsole
    let signals: PromptSignals
    let board: StatusBoard
    let watches = PromptWatches()
    /// What the backend refuses.
    private let refusals: UntoldEvents<RefusedUpload>
    /// How rows are shown.
    let form = Lock(ResultTable.Form.auto)
    /// Whether something has failed.
    private let hasFailed = Lock(false)

    private init(
        _ operations: ClientOperations, options: ClientOptions, console: any PromptConsole,
        signals: PromptSignals, board: StatusBoard, refusals: UntoldEvents<RefusedUpload>
    ) {
        self.operations = operations
        self.options = options
        self.console = console
        self.signals = signals
        self.board = board
        self.refusals = refusals
    }

    /// Opens the database, does what is typed until the end of the input or cancellation, and closes it.
    ///
    /// - Parameters:
    ///   - options: what the tool is started with.
    ///   - console: where it is typed and shown.
    ///   - signals: what the terminal's signals do.
    ///   - session: closes what was opened.
    /// - Returns: the exit status: 0, or 1 if something in a script has failed.
    /// - Throws: `PowerSyncError` if the database cannot be opened or closed, `SystemError`.
    package static func run(
        _ options: ClientOptions, console: any PromptConsole, signals: PromptSignals = PromptSignals(),
        session: Session
    ) async throws -> Int32 {
        let board = StatusBoard(retry: ClientOperations.standardRetry) { status in
            console.setPrompt(
                status.prompt(width: console.layout(.auto).width ?? .max, clock: LocalTime.clock))
        }
        let log: any LogWriterProtocol
        if console.isInteractive {
            log = NewsLogWriter { [weak board] in board?.tell($0) }
        } else {
            log = LogOutput.onStandardError(session)
        }
        let logger = DefaultLogger(minSeverity: .warning, writers: [log])
        let refusals = UntoldEvents<RefusedUpload>()
        let operations = try await ClientOperations.open(
            options, logger: logger, session: session, onRefusal: { refusals.add($0) })
        let prompt = ClientPrompt(
            operations, options: options, console: console, signals: signals, board: board,
            refusals: refusals)
        return try await prompt.serve()
    }

    private func serve() async throws -> Int32 {
        // Followed from before the first command on, so that no news is missed.
        let statuses = operations.database.currentStatus.asFlow()
        if console.isInteractive { await welcome() }
        signals.onRenewal { console.renew() }
        let result: Result<Void, any Error> = await withDiscardingTaskGroup { following in
            following.addTask { await followStatus(statuses) }
            following.addTask { await followRefusals() }
            if console.isInteractive {
                following.addTask { await followQueue() }
                following.addTask { await followAttachments() }
                following.addTask { await tellNews() }
            }
            let result: Result<Void, any Error>
            do { result = .success(try await takeLines()) } catch { result = .failure(error) }
            following.cancelAll()
            await watches.close()
            return result
        }
        // From here on Ctrl-C is a signal like any other.
        signals.end()
        try result.get()
        try await operations.close()
        // An upload that was on its way has ended.
        while let refusal = refusals.take() { await tell(refusal) }
        return !console.isInteractive && hasFailed.withLock { $0 } ? 1 : 0
    }

    private func welcome() async {
        let database = DisplayText.of(options.database)
        let service = DisplayText.of(ShownText.address(options.endpoint))
        await console.show(
            """
            PowerSync \(PackageVersion.current): \(database), with \(service)
            Type SQL that ends with a semicolon, .connect to sync, .help for more.
            """)
        console.setPrompt(
            board.current.prompt(width: console.layout(.auto).width ?? .max, clock: LocalTime.clock))
    }

    // MARK: What happens meanwhile

    private func followStatus(_ statuses: AsyncStream<any SyncStatusData>) async {
        for await status in statuses {
            board.change { $0.take(status) }
        }
    }

    private func followQueue() async {
        do {
            try await operations.watch(
                ClientStatement("SELECT count(*) FROM ps_crud"), throttle: 0.1,
                mapper: { try $0.getInt(index: 0) }
            ) { count in
                board.change { $0.queued = count.first ?? 0 }
            }
        } catch {
            if !Task.isCancelled {
                board.tell("the upload queue cannot be followed: \(PromptFailure.text(of: error))")
            }
        }
    }

    private func followRefusals() async {
        // The end of the task is what ends it.
        while let refusal = try? await refusals.next() { await tell(refusal) }
    }

    /// Tells of a refused transaction: a script has failed then.
    private func tell(_ refusal: UntoldEvents<RefusedUpload>.Event) async {
        let before = refusal.count > 1 ? " (and \(refusal.count - 1) before it)" : ""
        let line = DisplayText.of(refusal.content.text + before)
        if console.isInteractive { await console.show(line) } else { await fail(line, line: nil) }
    }

    private func tellNews() async {
        for await line in board.news { await console.show(line) }
    }

    // MARK: Lines

    /// Takes lines until there are no more, or the person leaves.
    private func takeLines() async throws {
        var collector = StatementCollector()
        // All lines of what is to be kept as one entry, and whether some of it has been done already.
        var entry = ""
        var isBegun = false
        var emptyInterruptions = 0
        while true {
            board.change { $0.isContinuing = collector.isOpen }
            // Before the line is being read it is for what is over; once it has been read, for what was typed.
            let linesRead = console.linesRead
            signals.onInterrupt(whileTyping: { console.interrupt() || console.linesRead == linesRead })
            switch try await console.line() {
            case .end:
                // What a person has not ended is given up with the rest.
                if !console.isInteractive, let rest = collector.finish() { await execute(rest) }
                if isBegun { await console.remember(entry) }
                return
            case .interrupted(let isEmpty):
                emptyInterruptions = isEmpty && !collector.isOpen ? emptyInterruptions + 1 : 0
                if emptyInterruptions > 1 { await console.show(Self.wayOut) }
                if isBegun { await console.remember(entry) }
                collector.reset()
                entry = ""
                isBegun = false
            case .text(let text, let number):
                emptyInterruptions = 0
                if !collector.isOpen, isCommand(text) {
                    await console.remember(text)
                    if try await performCommand(text, number) { return }
                    continue
                }
                let statements = collector.append(Array(text.utf8), number: number)
                if console.isInteractive { entry += entry.isEmpty ? text : "\n" + text }
                if !collector.isOpen {
                    if !text.allSatisfy(\.isWhitespace) { await console.remember(entry) }
                    entry = ""
                }
                isBegun = collector.isOpen && (isBegun || !statements.isEmpty)
                await execute(statements)
            case .bytes(let bytes, let number):
                let reason = "what stands on line \(number) is not a text in UTF-8"
                if !collector.isOpen, isCommand(String(decoding: bytes, as: UTF8.self)) {
                    await fail(reason, line: number)
                    continue
                }
                await execute(collector.append(bytes, number: number, unusable: reason))
            }
        }
    }

    private func isCommand(_ line: String) -> Bool { line.drop { $0.isWhitespace }.hasPrefix(".") }

    /// Does what a command says; returns whether it is the last one.
    private func performCommand(_ text: String, _ number: Int) async throws -> Bool {
        do {
            let command = try DotCommand(text)
            if command == .quit { return true }
            try await interruptible { try await perform(command) }
        } catch {
            try Task.checkCancellation()
            await fail(PromptFailure.text(of: error), line: number)
        }
        return false
    }

    // MARK: Parts

    /// Runs a body that Ctrl-C cancels.
    func interruptible<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let work = Task { try await body() }
        signals.onInterrupt(whileRunning: { work.cancel() })
        return try await withTaskCancellationHandler {
            try await work.value
        } onCancel: {
            work.cancel()
        }
    }

    /// Tells of a failure.
    func fail(_ message: String, line: Int?) async {
        hasFailed.withLock { $0 = true }
        await console.complain(message, line: line)
    }
}
