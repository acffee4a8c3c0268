/// Decides which questions about files go to a backend together, of those that wait (SPEC.md, "Questions").
///
/// A question that comes while no other is on its way goes at once. Those that come meanwhile go together when it is
/// answered: nothing waits for a time, and the more there is to ask the fewer requests each question costs.
struct QuestionLine: Sendable {
    /// What is sent now.
    enum Step: Sendable, Hashable {
        /// A question goes by its own route.
        case alone(UInt64)
        /// Questions go in one request, two at least.
        case together([UInt64])
    }

    /// A question that waits.
    private struct Waiting: Sendable {
        let id: UInt64
        let kind: BatchQuestion.Kind
        let bytes: Int
    }

    /// The most questions of a request, as a backend of this package has it.
    static let mostQuestions = 100
    /// The most bytes of them: half of what a backend of this package takes.
    static let mostBytes = 256 << 10
    /// How soon a request has to be answered for the next one to wait for it.
    ///
    /// On a way that takes longer most of the time is the way's, and files would stand still for it: there two are on
    /// their way at once. Where answers come sooner one has more questions, and costs less than two.
    static let quick = Duration.milliseconds(50)
    /// How long it is believed what the backend does not take: the answer may have been that of something else on the way.
    static let memory = Duration.seconds(600)
    /// How many requests are on their way at once, where answers take longer.
    private static let mostRequests = 2

    /// In the order in which they came; as many as there are transfers that ask.
    private var waiting: [Waiting] = []
    /// When the requests on their way were begun, by their first questions.
    private var begun: [UInt64: Duration] = [:]
    /// Whether the last answer took long.
    private var isSlow = false
    /// How many questions the backend takes at once; one where it knows no batch.
    private var most = Self.mostQuestions
    private var takesCompletions = true
    /// When the backend said last what it does not take; nil if it takes all.
    private var lastRefusal: Duration?

    /// When more is to be sent although nothing happens until then; nil where nothing waits for that.
    var moment: Duration? {
        guard !waiting.isEmpty, begun.count < Self.mostRequests else { return nil }
        return begun.values.min().map { $0 + Self.quick }
    }

    /// Whether questions of a kind may go together.
    func gathers(_ kind: BatchQuestion.Kind) -> Bool { most > 1 && (takesCompletions || kind != .complete) }

    /// Takes a question.
    mutating func add(_ id: UInt64, _ kind: BatchQuestion.Kind, bytes: Int) {
        waiting.append(Waiting(id: id, kind: kind, bytes: bytes))
    }

    /// Drops a question that waits.
    mutating func remove(_ id: UInt64) { waiting.removeAll { $0.id == id } }

    /// Returns what is sent now, and takes it for sent.
    ///
    /// - Parameter now: the time since some moment.
    /// - Returns: the steps in their order.
    mutating func steps(at now: Duration) -> [Step] {
        if let lastRefusal, now - lastRefusal >= Self.memory {
            (most, takesCompletions) = (Self.mostQuestions, true)
            self.lastRefusal = nil
        }
        let apart = waiting.filter { !gathers($0.kind) }
        var steps = apart.map { Step.alone($0.id) }
        if !apart.isEmpty { waiting = waiting.filter { gathers($0.kind) } }
        while !waiting.isEmpty, begun.count < mostAtOnce(at: now) {
            let ids = takeFirst()
            begun[ids[0]] = now
            steps.append(ids.count == 1 ? .alone(ids[0]) : .together(ids))
        }
        return steps
    }

    /// Says that a request has ended, whatever came of it, or that nobody wants its answer any more.
    ///
    /// - Parameters:
    ///   - id: its first question.
    ///   - now: the time since the same moment.
    mutating func ended(_ id: UInt64, at now: Duration) {
        // One that was sent apart held nothing up.
        guard let start = begun.removeValue(forKey: id) else { return }
        isSlow = now - start >= Self.quick
    }

    /// Says that a request had too many questions.
    ///
    /// - Parameters:
    ///   - count: how many it had.
    ///   - now: the time since the same moment.
    mutating func hadTooMany(_ count: Int, at now: Duration) {
        most = max(1, min(most, count / 2))
        lastRefusal = now
    }

    /// Says that a backend does not know the request.
    ///
    /// - Parameters:
    ///   - kinds: the kinds of its questions: without completions it may know the others.
    ///   - now: the time since the same moment.
    mutating func isUnknown(with kinds: Set<BatchQuestion.Kind>, at now: Duration) {
        if kinds.contains(.complete) { takesCompletions = false } else { most = 1 }
        lastRefusal = now
    }

    private func mostAtOnce(at now: Duration) -> Int {
        isSlow || begun.values.contains { now - $0 >= Self.quick } ? Self.mostRequests : 1
    }

    /// Takes as many questions as go together; one at least.
    private mutating func takeFirst() -> [UInt64] {
        var (count, bytes) = (0, 0)
        for question in waiting.prefix(most) {
            bytes += question.bytes
            if count > 0, bytes > Self.mostBytes { break }
            count += 1
        }
        defer { waiting.removeFirst(count) }
        return waiting.prefix(count).map(\.id)
    }
}
