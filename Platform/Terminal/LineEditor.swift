import PowerSyncSystem

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Lines that a person types on a terminal, with a history (libedit), and texts that appear above what is being typed.
///
/// One thread of its own does all of it, so that nothing is written into a line. Nothing else may write to the terminal
/// while the editor lives. Ctrl-C is a signal, of which ``interrupt()`` has to be told.
package final class LineEditor: Sendable {
    /// What came of reading a line.
    package enum Line: Sendable, Hashable {
        /// What was typed, without its end; several lines if it was taken from the history.
        case text(String)
        /// It was given up, at the latest when it had just been typed; whether it had anything in it.
        case interrupted(isEmpty: Bool)
        /// Ctrl-D on an empty line, or the end of the terminal.
        case end
    }

    /// How lines are edited.
    package struct Settings: Sendable {
        /// How many entries the history has.
        package var historyLimit = 1000
        /// The kind of the terminal; nil for what the environment says.
        package var terminal: String?
        /// Whether the user's own file of settings counts (editrc(5)).
        package var usesFile = true

        /// Makes the usual settings.
        package init() {}
    }

    private let desk: EditorDesk

    /// Opens a terminal.
    ///
    /// - Parameters:
    ///   - name: what the user's settings call the program.
    ///   - input: a descriptor of the terminal to read; stays the caller's, like the other one.
    ///   - output: a descriptor of the terminal to write.
    ///   - settings: how lines are edited.
    /// - Throws: `SystemError` if there is no descriptor or no thread for it.
    package init(
        name: String, input: Int32, output: Int32, settings: Settings = Settings()
    ) throws(SystemError) {
        let desk = try EditorDesk()
        self.desk = desk
        let own = try Self.duplicate(input)
        do throws(SystemError) {
            try Self.start(desk, name: name, input: own, output: output, settings)
        } catch {
            systemClose(own)
            throw error
        }
    }

    private static func start(
        _ desk: EditorDesk, name: String, input: Int32, output: Int32, _ settings: Settings
    ) throws(SystemError) {
        let own = try duplicate(output)
        do throws(SystemError) {
            try DetachedThread.start {
                EditorThread.run(desk, name: name, input: input, output: own, settings: settings)
            }
        } catch {
            systemClose(own)
            throw error
        }
    }

    /// Returns another number for a descriptor, which no program that is started gets.
    private static func duplicate(_ descriptor: Int32) throws(SystemError) -> Int32 {
        let other = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard other >= 0 else { throw SystemError(.file, "cannot use the terminal", errno: errno) }
        return other
    }

    deinit { desk.end() }

    /// Reads the next line, one at a time.
    ///
    /// - Returns: the line.
    /// - Throws: `CancellationError`, also when the editor is closed.
    package func line() async throws -> Line {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { desk.ask($0) }
        } onCancel: {
            desk.giveUp()
        }
    }

    /// Writes a text, and the end of a line behind it; above what is being typed.
    ///
    /// Returns when it is written, or when the task is cancelled; it is written then all the same.
    package func print(_ text: String) async {
        let id = desk.nextID()
        await withTaskCancellationHandler {
            await withCheckedContinuation { desk.post(text + "\n", id: id, $0) }
        } onCancel: {
            desk.letGo(id)
        }
    }

    /// Sets the prompt, a short text in one line; one that is shown changes in its place.
    package func setPrompt(_ prompt: String) { desk.setPrompt(prompt) }

    /// Adds an entry to the history, as the newest.
    package func remember(_ entry: String) { desk.remember(entry) }

    /// Gives up what is being typed, as Ctrl-C does.
    ///
    /// - Returns: whether a line is being read.
    @discardableResult
    package func interrupt() -> Bool { desk.interrupt() }

    /// How many lines have been read, those that were given up included.
    package var linesRead: Int { desk.linesRead }

    /// Draws the line anew, after the terminal had another size or another owner.
    package func renew() { desk.renew() }

    /// Ends reading and gives the terminal its former modes back; returns at once in a task that is cancelled.
    package func close() async {
        desk.end()
        await desk.waitForEnd()
    }
}

/// Outside of the type, whose own `close` hides the function.
private func systemClose(_ descriptor: Int32) { close(descriptor) }
