import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// The table of Client/Database/LIFECYCLE.md: every event in every state, each cell compared with what the reducer does.
@Suite struct LifecycleTableTests {
    /// The columns: states, the last one in two ways.
    enum Example: String, CaseIterable {
        case closed, opening, open, connecting, syncing, stopping
        case callIsLeft = "stopping, call 7 is left"

        /// Instance 1 opens and connects, its upload is call 7, instance 2 disconnects: as far as the state is.
        var reducer: LifecycleReducer {
            var reducer = LifecycleReducer()
            let wish = LifecycleTableTests.wish
            let steps: [(Example, [LifecycleEvent])] = [
                (.closed, [.joined(instance: 1), .joined(instance: 2)]),
                (.opening, [wish(.open, 1, 1, nil)]), (.open, [.finished(nil), .finished(nil)]),
                (.connecting, [wish(.connect, 1, 2, nil)]),
                (.syncing, [.finished(nil), .called(7, .uploadData, instance: 1)]),
                (.stopping, [wish(.disconnect, 2, 3, nil)]), (.callIsLeft, [.syncEnded]),
            ]
            for (example, events) in steps {
                for event in events { _ = reducer.reduce(event) }
                if example == self { break }
            }
            return reducer
        }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        /// The event's name on the page.
        let name: String
        let event: LifecycleEvent
        /// What the reducer does, for each example.
        let cells: [String]

        init(_ name: String, _ event: LifecycleEvent, _ cells: String...) {
            self.name = name
            self.event = event
            self.cells = cells
        }

        var testDescription: String { name }
    }

    private static func wish(
        _ wish: LifecycleWish, _ instance: Int, id: Int = 9, call: Int? = nil
    ) -> LifecycleEvent {
        .wished(LifecycleTicket(id: id, wish: wish, instance: instance, call: call))
    }

    /// The number that stands for the first wish of the queue, whichever that is.
    private static let first = 0

    static let rows: [Row] = [
        Row("instance 3 is made", .joined(instance: 3), "·", "·", "·", "·", "·", "·", "·"),
        Row(
            "open (1)", wish(.open, 1), "open(9) → opening", "waits", "answer 9: done", "waits",
            "answer 9: done", "waits", "waits"),
        Row(
            "open (2)", wish(.open, 2), "open(9) → opening", "waits", "prepare(9)", "waits", "prepare(9)",
            "waits", "waits"),
        Row(
            "connect (1)", wish(.connect, 1), "open(9) → opening", "waits", "make(9) → connecting", "waits",
            "stop sync, wait for call 7 → stopping", "waits", "waits"),
        Row(
            "connect (2)", wish(.connect, 2), "open(9) → opening", "waits", "prepare(9)", "waits",
            "prepare(9)", "waits", "waits"),
        Row(
            "disconnect (1)", wish(.disconnect, 1), "answer 9: done", "waits", "answer 9: done", "waits",
            "stop sync, wait for call 7 → stopping", "waits", "waits"),
        Row(
            "clear (1)", wish(.clear, 1), "open(9) → opening", "waits", "clear(9)", "waits",
            "stop sync, wait for call 7 → stopping", "waits", "waits"),
        Row(
            "update schema (1)", wish(.updateSchema, 1), "open(9) → opening", "waits", "apply schema(9)",
            "waits", "answer 9: connected", "waits", "waits"),
        Row(
            "close (1)", wish(.close(deletingFiles: false), 1), "leave(9)", "waits", "leave(9)", "waits",
            "stop sync, wait for call 7 → stopping", "waits", "waits"),
        Row(
            "close (2)", wish(.close(deletingFiles: false), 2), "leave(9)", "waits", "leave(9)", "waits",
            "leave(9)", "waits", "waits"),
        Row(
            "close and delete (1)", wish(.close(deletingFiles: true), 1), "answer 9: in use",
            "answer 9: in use", "answer 9: in use", "answer 9: in use", "answer 9: in use",
            "answer 9: in use", "answer 9: in use"),
        Row(
            "connect (1) in call 7", wish(.connect, 1, call: 7), "open(9) → opening", "waits",
            "make(9) → connecting", "waits", "stop sync → stopping", "stop waiting for call 7",
            "make(9), stop waiting for call 7 → connecting"),
        Row(
            "disconnect (1) in call 7", wish(.disconnect, 1, call: 7), "answer 9: done", "waits",
            "answer 9: done", "waits", "stop sync → stopping", "stop waiting for call 7",
            "answer 9: done → open"),
        Row(
            "clear (1) in call 7", wish(.clear, 1, call: 7), "open(9) → opening", "waits", "clear(9)",
            "waits", "stop sync → stopping", "stop waiting for call 7",
            "clear(9), stop waiting for call 7 → open"),
        Row(
            "update schema (1) in call 7", wish(.updateSchema, 1, call: 7), "open(9) → opening", "waits",
            "apply schema(9)", "waits", "answer 9: connected", "stop waiting for call 7",
            "apply schema(9), stop waiting for call 7 → open"),
        Row(
            "close (1) in call 7", wish(.close(deletingFiles: false), 1, call: 7), "leave(9)", "waits",
            "leave(9)", "waits", "stop sync → stopping", "stop waiting for call 7",
            "leave(9), stop waiting for call 7 → open"),
        Row(
            "nobody waits for the first wish", .abandoned(ticket: first), "·", "cancel opening", "·", "·",
            "·", "·", "·"),
        Row(
            "instance 1 is dropped", .dropped(instance: 1, ticket: 9), "·", "·", "close connections", "waits",
            "stop sync, wait for call 7 → stopping", "waits", "waits"),
        Row(
            "instance 2 is dropped", .dropped(instance: 2, ticket: 9), "·", "·", "answer 9: done", "waits",
            "answer 9: done", "waits", "waits"),
        Row(
            "work done", .finished(nil), "·", "follow, prepare(1) → open", "·",
            "start sync, answer 2: done → syncing", "·", "·", "·"),
        Row(
            "work failed", .finished(TestError(text: "no")), "·", "answer 1: failed → closed", "·",
            "answer 2: failed → open", "·", "·", "·"),
        Row("sync ended", .syncEnded, "·", "·", "·", "·", "· → open", "·", "·"),
        Row("uploadData (8)", .called(8, .uploadData, instance: 1), "·", "·", "·", "·", "·", "·", "·"),
        Row(
            "fetchCredentials (8)", .called(8, .fetchCredentials, instance: 1), "·", "·", "·", "·",
            "start call 8", "·", "·"),
        Row(
            "call 7 ended", .callEnded(7), "·", "·", "·", "·", "·", "stop waiting for call 7",
            "stop waiting for call 7, answer 3: done → open"),
        Row(
            "call 7 has had its time", .patienceOver(call: 7, number: 1), "·", "·", "·", "·", "·",
            "cut off call 7", "cut off call 7, answer 3: done → open"),
    ]

    /// What can happen; the switches have no default on purpose.
    enum Kind: CaseIterable {
        case joined, dropped, open, connect, disconnect, clear, updateSchema, close, closeWithFiles
        case abandoned, finished, failed, syncEnded, upload, fetch, callEnded, patienceOver

        init(_ event: LifecycleEvent) {
            switch event {
            case .joined: self = .joined
            case .dropped: self = .dropped
            case .wished(let ticket):
                switch ticket.wish {
                case .open: self = .open
                case .connect: self = .connect
                case .disconnect: self = .disconnect
                case .clear: self = .clear
                case .updateSchema: self = .updateSchema
                case .close(let deletesFiles): self = deletesFiles ? .closeWithFiles : .close
                }
            case .abandoned: self = .abandoned
            case .finished(let error): self = error == nil ? .finished : .failed
            case .syncEnded: self = .syncEnded
            case .called(_, let kind, _): self = kind == .uploadData ? .upload : .fetch
            case .callEnded: self = .callEnded
            case .patienceOver: self = .patienceOver
            }
        }
    }

    @Test func everyKindOfEventHasARow() {
        let missing = Set(Kind.allCases).subtracting(Self.rows.map { Kind($0.event) })
        #expect(missing.isEmpty)
    }

    @Test func everyStateHasAColumn() {
        let missing = Set(LifecycleReducer.Phase.allCases).subtracting(
            Example.allCases.map(\.reducer.phase))
        #expect(missing.isEmpty)
        #expect(Self.rows.allSatisfy { $0.cells.count == Example.allCases.count })
    }

    @Test func thePageHasThisTable() throws {
        let lines = try Repository.text("Client/Database/LIFECYCLE.md").split(separator: "\n")
        let start = try #require(lines.firstIndex { $0.hasPrefix("| event |") })
        #expect(
            lines[start] == "| event | \(Example.allCases.map(\.rawValue).joined(separator: " | ")) |")
        let page = lines[(start + 2)...].prefix { $0.hasPrefix("|") }.map { String($0) }
        #expect(page == Self.rows.map { "| \($0.name) | \($0.cells.joined(separator: " | ")) |" })
    }

    @Test(arguments: rows, Example.allCases) func everyCellSaysWhatTheReducerDoes(
        _ row: Row, _ example: Example
    ) throws {
        let cells = Dictionary(uniqueKeysWithValues: zip(Example.allCases, row.cells))
        #expect(Self.cell(row.event, in: example) == cells[example])
    }

    private static func cell(_ event: LifecycleEvent, in example: Example) -> String {
        var reducer = example.reducer
        var event = event
        if case .abandoned(ticket: first) = event, let ticket = reducer.queue.first {
            event = .abandoned(ticket: ticket.id)
        }
        let (phase, waiting) = (reducer.phase, reducer.waitingCount)
        let effects = reducer.reduce(event).map(\.text).joined(separator: ", ")
        let nothing = reducer.waitingCount > waiting ? "waits" : "·"
        return (effects.isEmpty ? nothing : effects)
            + (reducer.phase == phase ? "" : " → \(reducer.phase.rawValue)")
    }
}

// MARK: Effects as the page writes them

extension LifecycleEffect {
    fileprivate var text: String {
        switch self {
        case .work(let work): work.text
        case .cancelOpening: "cancel opening"
        case .follow: "follow"
        case .startSync: "start sync"
        case .stopSync: "stop sync"
        case .discardSync: "discard sync"
        case .startCall(let id): "start call \(id)"
        case .startPatience(let id, _): "wait for call \(id)"
        case .endPatience(let id): "stop waiting for call \(id)"
        case .cutOff(let id): "cut off call \(id)"
        case .answer(let ticket, let answer): "answer \(ticket): \(answer.text)"
        }
    }
}

extension LifecycleWork {
    fileprivate var text: String {
        switch self {
        case .open(let ticket): "open(\(ticket))"
        case .prepare(let ticket): "prepare(\(ticket))"
        case .make(let ticket): "make(\(ticket))"
        case .clear(let ticket): "clear(\(ticket))"
        case .applySchema(let ticket): "apply schema(\(ticket))"
        case .leave(let ticket): "leave(\(ticket))"
        case .closeConnections: "close connections"
        case .removeFiles(let ticket): "remove files(\(ticket))"
        }
    }
}

extension LifecycleAnswer {
    fileprivate var text: String {
        switch self {
        case .done: "done"
        case .closed: "closed"
        case .connected: "connected"
        case .inUse: "in use"
        case .failed: "failed"
        }
    }
}
