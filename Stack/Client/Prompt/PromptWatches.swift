import PowerSyncSystem

/// The watched queries of a prompt, by number.
final class PromptWatches: Sendable {
    private struct State {
        var tasks: [Int: Task<Void, Never>] = [:]
        var last = 0
        var isOver = false
    }

    /// How many there may be at a time.
    static let limit = 100

    private let state = Lock(State())

    /// Begins a watch, which stays until it ends by itself or is ended.
    ///
    /// - Parameter body: gets the number of the watch; ends when it is cancelled.
    /// - Returns: the number; nil if there are too many already.
    func begin(_ body: @escaping @Sendable (Int) async -> Void) -> Int? {
        state.withLock { state in
            guard !state.isOver, state.tasks.count < Self.limit else { return nil }
            state.last += 1
            let number = state.last
            state.tasks[number] = Task { [weak self] in
                await body(number)
                self?.forget(number)
            }
            return number
        }
    }

    /// Ends a watch, or all.
    ///
    /// - Parameter number: the watch; nil for all.
    /// - Returns: the numbers of those that were ended.
    func end(_ number: Int? = nil) async -> [Int] {
        let ended = state.withLock { state in
            let ended = state.tasks.filter { number == nil || $0.key == number }
            for number in ended.keys { state.tasks[number] = nil }
            return ended
        }
        for task in ended.values { task.cancel() }
        for task in ended.values { await task.value }
        return ended.keys.sorted()
    }

    /// Ends all watches; none begins any more.
    func close() async {
        state.withLock { $0.isOver = true }
        _ = await end()
    }

    private func forget(_ number: Int) { state.withLock { $0.tasks[number] = nil } }
}
