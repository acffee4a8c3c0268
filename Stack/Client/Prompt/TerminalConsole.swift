import PowerSyncSystem
import PowerSyncTerminal

/// A prompt's terminal, with a person before it.
package final class TerminalConsole: PromptConsole {
    /// The columns of a terminal that tells none.
    private static let usualWidth = 80

    package let isInteractive = true
    package let rowLimit: Int? = 1000

    private let editor: LineEditor
    private let output: Int32
    private let style: TextStyle
    private let measure = DisplayWidth()
    /// Nil where nothing is kept, or can be.
    private let history: Lock<StatementHistory?>

    private init(_ editor: LineEditor, output: Int32, style: TextStyle, history: StatementHistory?) {
        self.editor = editor
        self.output = output
        self.style = style
        self.history = Lock(history)
    }

    /// Opens a terminal.
    ///
    /// - Parameters:
    ///   - input: a descriptor of the terminal to read; stays the caller's, like the other one.
    ///   - output: a descriptor of the terminal to write.
    ///   - environment: says how texts stand out, and where the history is.
    ///   - settings: how lines are edited.
    ///   - session: gives the terminal its modes back.
    /// - Returns: the console.
    /// - Throws: `SystemError`.
    package static func open(
        input: Int32, output: Int32, environment: [String: String],
        settings: LineEditor.Settings = LineEditor.Settings(), session: Session
    ) async throws -> TerminalConsole {
        var settings = settings
        settings.historyLimit = StatementHistory.limit
        let editor = try LineEditor(
            name: "powersync-stack", input: input, output: output, settings: settings)
        session.onEnd { await editor.close() }
        let console = TerminalConsole(
            editor, output: output, style: TextStyle.ofTerminal(environment),
            history: StatementHistory.ofUser(environment))
        await console.useHistory { for entry in try $0.load() { editor.remember(entry) } }
        return console
    }

    /// The columns of the terminal at this moment.
    package var width: Int { Terminal.columns(of: output) ?? Self.usualWidth }

    package func layout(_ form: ResultTable.Form) -> ResultTable.Layout {
        ResultTable.Layout(width: width, form: form, style: style, measure: measure)
    }

    package func setPrompt(_ prompt: String) { editor.setPrompt(prompt) }

    package func interrupt() -> Bool { editor.interrupt() }

    package var linesRead: Int { editor.linesRead }

    package func renew() { editor.renew() }

    package func line() async throws -> PromptLine {
        switch try await editor.line() {
        case .text(let text): .text(text, number: 1)
        case .interrupted(let isEmpty): .interrupted(isEmpty: isEmpty)
        case .end: .end
        }
    }

    package func show(_ text: String) async { await editor.print(text) }

    package func complain(_ failure: String, line: Int?) async {
        await editor.print(style.failure("error: \(failure)"))
    }

    package func remember(_ entry: String) async {
        guard StatementHistory.keeps(entry) else { return }
        editor.remember(entry)
        await useHistory { try $0.append(entry) }
    }

    /// Uses the history unless that has failed before, which is told once.
    private func useHistory(_ body: (StatementHistory) throws -> Void) async {
        guard let file = history.withLock({ $0 }) else { return }
        do {
            try body(file)
        } catch {
            history.withLock { $0 = nil }
            await complain("no history is kept: \(DisplayText.of("\(error)"))", line: nil)
        }
    }
}
