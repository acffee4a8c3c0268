import PowerSyncTerminal

/// A prompt's streams where no person sits: statements come in, results go out, and errors elsewhere.
package actor ScriptConsole: PromptConsole {
    /// The largest line in bytes.
    package static let lineLimit = 64 << 20

    package nonisolated let isInteractive = false
    package nonisolated let rowLimit: Int? = nil

    private var input: CommandInput
    private let output: AnswerOutput
    private let errors: @Sendable (String) -> Void
    private let measure = DisplayWidth()
    /// The number of the last line.
    private var number = 0

    /// Uses streams.
    ///
    /// - Parameters:
    ///   - input: the descriptor with the statements; stays the caller's.
    ///   - output: gets what is shown.
    ///   - errors: writes one line about a failure.
    package init(
        input: Int32, output: AnswerOutput, errors: @escaping @Sendable (String) -> Void
    ) {
        self.input = CommandInput(input, limit: Self.lineLimit, keepsBlankLines: true)
        self.output = output
        self.errors = errors
    }

    package nonisolated func layout(_ form: ResultTable.Form) -> ResultTable.Layout {
        ResultTable.Layout(
            width: nil, form: form, style: TextStyle(isColored: false), measure: measure)
    }

    package nonisolated func setPrompt(_ prompt: String) {}

    package nonisolated func interrupt() -> Bool { false }

    /// None that anybody could have typed.
    package nonisolated var linesRead: Int { 0 }

    package nonisolated func renew() {}

    package func line() async throws -> PromptLine {
        // Whoever reads waits for the line before it asks for another one.
        var input = input
        let line = try await input.next()
        self.input = input
        number += 1
        switch line {
        case nil: return .end
        case .tooLong?:
            // Nothing is known of its rest, so nobody knows whether what follows is a statement, or stands in a text.
            throw ClientError("line \(number) is longer than a line may be, the script ends there")
        case .text(let bytes)?:
            guard let text = String(validating: bytes, as: UTF8.self) else {
                return .bytes(bytes, number: number)
            }
            return .text(text, number: number)
        }
    }

    package func show(_ text: String) async {
        output.put(text)
        await output.room()
    }

    package func complain(_ failure: String, line: Int?) async {
        // Where both streams lead to one place, it stands behind what was shown before.
        await output.flush()
        errors(line.map { "error: line \($0): \(failure)" } ?? "error: \(failure)")
    }

    package func remember(_ entry: String) async {}
}
