/// What comes from whoever uses a prompt.
package enum PromptLine: Sendable, Equatable {
    /// A line, and its number where lines have one.
    case text(String, number: Int)
    /// A line that is not a text in UTF-8, and its number.
    case bytes([UInt8], number: Int)
    /// A line was given up; whether it had anything in it.
    case interrupted(isEmpty: Bool)
    /// Nothing more comes.
    case end
}

/// Where a prompt reads and shows: a terminal with a person before it, or the streams of a script.
package protocol PromptConsole: Sendable {
    /// Whether a person sits there.
    var isInteractive: Bool { get }
    /// How many rows of a result are shown; nil for all.
    var rowLimit: Int? { get }

    /// Returns what a table is fitted into at this moment.
    func layout(_ form: ResultTable.Form) -> ResultTable.Layout

    /// Sets the prompt; does nothing where there is none.
    func setPrompt(_ prompt: String)

    /// Gives up what is being typed.
    ///
    /// - Returns: whether anything is being typed.
    func interrupt() -> Bool

    /// How many lines have been read, those that were given up included; also one that has not been handed over yet.
    var linesRead: Int { get }

    /// Draws the line anew that is being typed; does nothing where nobody types.
    func renew()

    /// Reads the next line.
    ///
    /// - Returns: the line.
    /// - Throws: `CancellationError`, `ClientError` for a line behind which nothing can be read, `SystemError`.
    func line() async throws -> PromptLine

    /// Shows lines of text.
    func show(_ text: String) async

    /// Tells of a failure, in one line.
    ///
    /// - Parameters:
    ///   - failure: what went wrong.
    ///   - line: the number of the line that asked for it; nil where that is of no interest.
    func complain(_ failure: String, line: Int?) async

    /// Keeps what was typed, so that it can be brought back.
    func remember(_ entry: String) async
}
