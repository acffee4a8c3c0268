/// How a prompt runs where no person sits.
extension ClientPrompt {
    /// Runs a script to its end, or until what it shows cannot be written any more.
    ///
    /// - Parameters:
    ///   - options: what the tool is started with.
    ///   - input: the descriptor with the statements; stays the caller's.
    ///   - write: writes lines and their end with one call; may block. What it throws ends the run, and is thrown by the
    ///   end of the session.
    ///   - errors: writes one line about a failure.
    ///   - session: closes what was opened.
    /// - Returns: the exit status: 0, or 1 if something has failed.
    /// - Throws: as ``run(_:console:signals:session:)``.
    package static func runScript(
        _ options: ClientOptions, input: Int32, write: @escaping @Sendable (String) throws -> Void,
        errors: @escaping @Sendable (String) -> Void, session: Session
    ) async throws -> Int32 {
        let output = AnswerOutput(write)
        session.onEnd {
            await output.flush()
            if let failure = output.failure { throw failure }
        }
        session.onHurry { output.abandon() }
        let console = ScriptConsole(input: input, output: output, errors: errors)
        return try await withThrowingTaskGroup(of: Int32.self) { group in
            group.addTask { try await ClientPrompt.run(options, console: console, session: session) }
            group.addTask {
                // Nobody learns any more what the script does. The session tells why.
                try await output.waitForFailure()
                return 1
            }
            defer { group.cancelAll() }
            return try await group.next() ?? 1
        }
    }
}
