import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// A client of the stream that keeps every line.
final class TestStream: Sendable {
    /// How a stream ended.
    enum End: Equatable { case clean, cut }

    private struct State {
        var texts: [String] = []
        var lines: [SyncLine] = []
        var model: StreamModel
        var end: End?
        var seen = 0
    }

    let status: Int
    let fields: HTTPFields
    private let state: Lock<State>
    private let reading: Task<Void, Never>

    /// Reads a stream.
    ///
    /// - Parameters:
    ///   - stream: The answer.
    ///   - positions: Those of the request.
    init(_ stream: HTTPClientStream, positions: [BucketRequest]) {
        status = stream.status
        fields = stream.fields
        let state = Lock(State(model: StreamModel(positions: positions)))
        self.state = state
        reading = Task {
            var splitter = LineSplitter(limit: 1 << 26)
            do {
                while let bytes = try await stream.next() {
                    splitter.append(bytes)
                    while let line = try splitter.next() {
                        let text = String(decoding: line, as: UTF8.self)
                        let parsed = (try? SyncLine(parsing: Array(line))) ?? .unknown(key: text)
                        state.withLock { state in
                            state.texts.append(text)
                            state.lines.append(parsed)
                            state.model.take(parsed)
                        }
                    }
                }
                state.withLock { $0.end = .clean }
            } catch {
                state.withLock { $0.end = .cut }
            }
        }
    }

    /// The text of every line so far.
    var texts: [String] { state.withLock { $0.texts } }

    /// Every line so far.
    var lines: [SyncLine] { state.withLock { $0.lines } }

    /// How the stream ended, nil while it goes on.
    var end: End? { state.withLock { $0.end } }

    /// What a client holds after the lines so far.
    var model: StreamModel { state.withLock { $0.model } }

    /// The lines since the last call.
    func takeTexts() -> [String] {
        state.withLock { state in
            defer { state.seen = state.texts.count }
            return Array(state.texts[state.seen...])
        }
    }

    /// Waits until the client holds what it should, and returns that.
    ///
    /// - Parameters:
    ///   - state: What is waited for.
    ///   - deadline: How long at most.
    ///   - sourceLocation: Where it is waited for.
    ///   - isReached: Whether that is it; asked for complete checkpoints only.
    /// - Returns: What the client held at that moment; no rule of the protocol had been broken.
    /// - Throws: `StateDidNotCome`.
    @discardableResult
    func holds(
        _ state: String, within deadline: Duration = TestOptions.deadline,
        sourceLocation: SourceLocation = #_sourceLocation,
        _ isReached: (StreamModel) -> Bool = { _ in true }
    ) async throws -> StreamModel {
        let held = try await wait(for: state, within: deadline, sourceLocation: sourceLocation) {
            model
        } until: {
            $0.isComplete && isReached($0)
        }
        #expect(held.broken == [], sourceLocation: sourceLocation)
        return held
    }

    /// Waits until the client holds exactly these rows.
    @discardableResult
    func holds(
        _ rows: [String], within deadline: Duration = TestOptions.deadline,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> StreamModel {
        try await holds("the rows \(rows)", within: deadline, sourceLocation: sourceLocation) {
            $0.rowNames == rows
        }
    }

    /// Waits for the end of the stream.
    func waitForEnd(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await wait(for: "the end of the stream", sourceLocation: sourceLocation) {
            end
        } until: {
            $0 != nil
        }
    }

    /// Closes the connection.
    func close() { reading.cancel() }
}
