import PowerSync
import PowerSyncSystem
import PowerSyncWire

/// One watch of a driving program, which a command of the program can end.
final class OpenWatch: Sendable {
    private enum State {
        case open, unwanted, over
    }

    /// The id of the command that watches.
    let id: JSON?
    private let state = AsyncValue(State.open)

    /// Makes a watch that has not begun.
    init(_ id: JSON?) { self.id = id }

    /// Whether a command has ended it.
    var isUnwanted: Bool { state.current == .unwanted }

    /// Runs the watch until it ends, or is ended, which cancels the body.
    func run(_ body: @escaping @Sendable () async -> Void) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await body() }
            // Whatever ends either of them, it is the end of both.
            group.addTask { _ = try? await self.state.wait { $0 != .open } }
            _ = await group.next()
            group.cancelAll()
        }
        state.change { $0 = .over }
    }

    /// Ends the watch, and returns when nothing more comes of it.
    ///
    /// - Throws: `CancellationError`.
    func end() async throws {
        state.change { $0 = $0 == .over ? .over : .unwanted }
        _ = try await state.wait { $0 == .over }
    }
}

/// The watches that are open, in the order in which they began.
final class OpenWatches: Sendable {
    private let watches = Lock<[OpenWatch]>([])

    /// Adds a watch, which has to be removed when it is over.
    func add(_ watch: OpenWatch) { watches.withLock { $0.append(watch) } }

    /// Removes a watch.
    func remove(_ watch: OpenWatch) { watches.withLock { $0.removeAll { $0 === watch } } }

    /// Returns the watches of commands with an id, which may repeat.
    func all(of id: JSON) -> [OpenWatch] { watches.withLock { $0.filter { $0.id == id } } }
}
