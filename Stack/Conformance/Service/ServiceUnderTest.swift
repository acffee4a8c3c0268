/// What the steps of a scenario are done to: a process with its databases, or what a test wrote down.
package protocol ServiceUnderTest: Sendable {
    /// Whether it is this program's own, of which more is known.
    var isOwn: Bool { get }
    /// Where it answers.
    var access: ServiceAccess { get async }
    /// Whether it was started and not stopped since.
    var isRunning: Bool { get async }
    /// The last lines of its log, in one.
    var logEnd: String { get async }

    /// Requires that it has not ended by itself.
    ///
    /// - Throws: `StackError` with `.partEnded`, which says how it ended.
    func requireLife() async throws

    /// Runs statements in one transaction on the source.
    ///
    /// - Parameter statements: the statements.
    /// - Throws: `PostgresError`, `StackError`.
    func transact(_ statements: [String]) async throws

    /// Stops it if it runs.
    ///
    /// - Throws: `StackError` with `.closing` if it had to be killed, or had ended by itself.
    func stop() async throws

    /// Starts it again, stopping it first if it runs.
    ///
    /// - Parameter newConfig: another sync config; nil for the same.
    /// - Throws: `ScenarioService.Refusal`, `StackError`, `SystemError`.
    func restart(_ newConfig: String?) async throws

    /// Compacts its storage.
    ///
    /// - Returns: why it cannot be done; nil if it was done.
    /// - Throws: `StackError` if it fails.
    func compact() async throws -> String?
}
