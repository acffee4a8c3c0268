import CPowerSyncSystem
import PowerSyncSystem

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// What the thread of an editor and everybody else share, and the pipe that wakes the thread.
final class EditorDesk: Sendable {
    /// A continuation of whoever waits for a line.
    typealias Reader = CheckedContinuation<LineEditor.Line, any Error>

    /// What the thread has to do next.
    enum Work {
        /// To wait for a sign.
        case nothing
        /// To keep entries of the history.
        case remember([String])
        /// To write texts.
        case write([Text])
        /// To read a line.
        case read
        /// To end.
        case end
    }

    /// A text that is to be written, by its number.
    struct Text {
        let id: Int
        let text: String
    }

    /// What there is for a thread that reads a line.
    struct News {
        /// Whether nobody wants the line any more.
        var isOver = false
        /// Whether the line is to be given up.
        var isInterrupted = false
        /// Whether somebody else has changed the terminal.
        var isOutdated = false
        /// Whether texts are to be written.
        var hasTexts = false
        /// Whether the prompt is another one than before.
        var hasPrompt = false
    }

    private struct State {
        var prompt = ""
        var news = News()
        var texts: [Text] = []
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
        var lastID = 0
        var entries: [String] = []
        var reader: Reader?
        var linesRead = 0
        var isEnding = false
        var hasEnded = false
        var enders: [Int: CheckedContinuation<Void, Never>] = [:]
    }

    /// The end of the pipe at which signs arrive.
    let signs: Int32
    private let sign: Int32
    private let state = Lock(State())

    /// Makes a desk with nothing on it.
    init() throws(SystemError) {
        var readEnd: Int32 = 0
        var writeEnd: Int32 = 0
        let status = powersync_pipe(&readEnd, &writeEnd)
        if status < 0 { throw SystemError(.file, "cannot make a pipe", errno: -status) }
        // One sign wakes as well as many, so nobody waits for room, and nobody for another one.
        for end in [readEnd, writeEnd] { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
        signs = readEnd
        sign = writeEnd
    }

    deinit {
        close(signs)
        close(sign)
    }

    // MARK: From everywhere

    /// Asks for a line; refuses a task that is cancelled, and any once the editor ends.
    func ask(_ reader: Reader) {
        let isAccepted = state.withLock { state in
            precondition(state.reader == nil, "an editor reads one line at a time")
            // The handler of a task that is cancelled already may have run.
            if Task.isCancelled || state.isEnding { return false }
            state.reader = reader
            state.news.isOver = false
            state.news.isInterrupted = false
            return true
        }
        if isAccepted { wake() } else { reader.resume(throwing: CancellationError()) }
    }

    /// Says that nobody wants the line any more.
    func giveUp() {
        state.withLock { $0.news.isOver = true }
        wake()
    }

    /// Asks for a text to be written; `waiter` goes on when it is, or at once when the editor has ended.
    func post(_ text: String, id: Int, _ waiter: CheckedContinuation<Void, Never>) {
        let isWaiting = state.withLock { state in
            if state.hasEnded { return false }
            state.texts.append(Text(id: id, text: text))
            state.news.hasTexts = true
            // The text is written all the same, whoever waits for it.
            if Task.isCancelled { return false }
            state.waiters[id] = waiter
            return true
        }
        wake()
        if !isWaiting { waiter.resume() }
    }

    /// Returns a number for whoever waits.
    func nextID() -> Int {
        state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
    }

    /// Lets whoever waits for a text go.
    func letGo(_ id: Int) { state.withLock { $0.waiters.removeValue(forKey: id) }?.resume() }

    /// Sets the prompt.
    func setPrompt(_ prompt: String) {
        let isShown = state.withLock { state in
            guard state.prompt != prompt else { return false }
            state.prompt = prompt
            state.news.hasPrompt = true
            return state.reader != nil
        }
        if isShown { wake() }
    }

    /// Gives up what is being typed; returns whether anything is.
    func interrupt() -> Bool {
        let isReading = state.withLock { state in
            if state.reader != nil { state.news.isInterrupted = true }
            return state.reader != nil
        }
        if isReading { wake() }
        return isReading
    }

    /// How many lines have been answered.
    var linesRead: Int { state.withLock { $0.linesRead } }

    /// Says that somebody else has changed the terminal.
    func renew() {
        state.withLock { $0.news.isOutdated = true }
        wake()
    }

    /// Adds an entry to the history.
    func remember(_ entry: String) {
        state.withLock { $0.entries.append(entry) }
        wake()
    }

    /// Says that the editor is to end.
    func end() {
        state.withLock { $0.isEnding = true }
        wake()
    }

    /// Waits until the thread has ended; not any longer once the task is cancelled.
    func waitForEnd() async {
        let id = nextID()
        await withTaskCancellationHandler {
            await withCheckedContinuation { ender in
                let isOver = state.withLock { state in
                    // The handler of a task that is cancelled already has run, and found nobody to let go.
                    if Task.isCancelled || state.hasEnded { return true }
                    state.enders[id] = ender
                    return false
                }
                if isOver { ender.resume() }
            }
        } onCancel: {
            state.withLock { $0.enders.removeValue(forKey: id) }?.resume()
        }
    }

    // MARK: For the thread

    /// Whether the editor is to end.
    var isEnding: Bool { state.withLock { $0.isEnding } }

    /// The prompt.
    var prompt: String { state.withLock { $0.prompt } }

    /// What there is for a thread that reads a line.
    var news: News {
        state.withLock { state in
            var news = state.news
            if state.isEnding { news.isOver = true }
            return news
        }
    }

    /// Takes the news that a drawn line shows; the texts stay until they are written.
    func takeNews() -> News {
        state.withLock { state in
            defer {
                state.news.isOutdated = false
                state.news.hasPrompt = false
            }
            return state.news
        }
    }

    /// Takes what there is to do.
    func takeWork() -> Work {
        state.withLock { state -> Work in
            if !state.entries.isEmpty {
                defer { state.entries = [] }
                return .remember(state.entries)
            }
            if !state.texts.isEmpty { return .write(Self.takeTexts(&state)) }
            if state.isEnding { return .end }
            return state.reader == nil ? .nothing : .read
        }
    }

    /// Takes the texts.
    func takeTexts() -> [Text] { state.withLock { Self.takeTexts(&$0) } }

    private static func takeTexts(_ state: inout State) -> [Text] {
        defer { state.texts = [] }
        state.news.hasTexts = false
        return state.texts
    }

    /// Says that texts are written.
    func written(_ texts: [Text]) { for text in texts { letGo(text.id) } }

    /// Answers whoever waits for a line; one that was interrupted at its very end is given up.
    func answer(_ line: Result<LineEditor.Line, any Error>) {
        let (reader, isLate) = state.withLock { state in
            state.linesRead += 1
            return (state.reader.take(), state.news.isInterrupted)
        }
        if isLate, case .success(.text) = line {
            reader?.resume(returning: .interrupted(isEmpty: false))
        } else {
            reader?.resume(with: line)
        }
    }

    /// Says that the thread has ended.
    func ended() {
        let (waiters, reader) = state.withLock { state in
            state.hasEnded = true
            state.isEnding = true
            defer {
                state.waiters = [:]
                state.enders = [:]
            }
            return (Array(state.waiters.values) + Array(state.enders.values), state.reader.take())
        }
        for waiter in waiters { waiter.resume() }
        reader?.resume(throwing: CancellationError())
    }

    /// Takes all signs that have come.
    func takeSigns() {
        var bytes = [UInt8](repeating: 0, count: 64)
        while read(signs, &bytes, bytes.count) > 0 {}
    }

    private func wake() {
        var byte: UInt8 = 1
        // A full pipe wakes, too.
        _ = write(sign, &byte, 1)
    }
}
