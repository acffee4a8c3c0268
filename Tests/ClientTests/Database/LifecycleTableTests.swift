import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// The table of Client/Database/LIFECYCLE.md: every event in every state, each cell compared with what the reducer does.
@Suite struct LifecycleTableTests {
    /// The columns: states, some in several ways.
    enum Example: String, CaseIterable {
        case closed, opening, open, connecting
        case claimed = "connecting, claimed"
        case syncing, stopping
        case callIsLeft = "stopping, call 7 is left"
        case elsewhere
        case takingOver = "connecting, taking over"
        case pausing = "elsewhere, pausing"
        case givingWay = "stopping, giving way"

        /// Instance 1 opens and connects, its upload is call 7, instance 2 disconnects, and another process has the right
        /// to sync: as far as the state is.
        var reducer: LifecycleReducer {
            var reducer = LifecycleReducer()
            for event in events { _ = reducer.reduce(event) }
            return reducer
        }

        private var events: [LifecycleEvent] {
            let wish = LifecycleTableTests.wish
            switch self {
            case .closed: return [.joined(instance: 1), .joined(instance: 2)]
            case .opening: return Self.closed.events + [wish(.open, 1, 1, nil)]
            case .open: return Self.opening.events + [.finished(nil), .finished(nil)]
            case .connecting: return Self.open.events + [wish(.connect, 1, 2, nil)]
            case .claimed: return Self.connecting.events + [.claimed(.us)]
            case .syncing:
                return Self.claimed.events
                    + [.finished(nil), .called(7, .uploadData, instance: 1, connection: 2)]
            case .stopping: return Self.syncing.events + [wish(.disconnect, 2, 3, nil)]
            case .callIsLeft: return Self.stopping.events + [.syncEnded]
            case .elsewhere: return Self.connecting.events + [.claimed(.another)]
            case .takingOver: return Self.elsewhere.events + [.holderChanged(.us, ticket: 2)]
            case .pausing: return Self.takingOver.events + [.finished(TestError(text: "no"))]
            case .givingWay: return Self.syncing.events + [.holderChanged(.another, ticket: 2)]
            }
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
        Row(
            "instance 3 is made", .joined(instance: 3), "·", "·", "·", "·", "·", "·", "·", "·", "·", "·", "·",
            "·"),
        Row(
            "open (1)", wish(.open, 1), "open(9) → opening", "waits", "answer 9: done", "waits", "waits",
            "answer 9: done", "waits", "waits", "answer 9: done", "waits", "answer 9: done", "answer 9: done"),
        Row(
            "open (2)", wish(.open, 2), "open(9) → opening", "waits", "prepare(9)", "waits", "waits",
            "prepare(9)", "waits", "waits", "prepare(9)", "waits", "prepare(9)", "prepare(9)"),
        Row(
            "connect (1)", wish(.connect, 1), "open(9) → opening", "waits", "claim(9) → connecting", "waits",
            "waits", "stop sync, cancel call 7, wait for call 7 → stopping", "waits", "waits",
            "claim(9) → connecting", "waits", "end pause, claim(9) → connecting", "wait for call 7"),
        Row(
            "connect (2)", wish(.connect, 2), "open(9) → opening", "waits", "prepare(9)", "waits", "waits",
            "prepare(9)", "waits", "waits", "prepare(9)", "waits", "prepare(9)", "prepare(9)"),
        Row(
            "disconnect (1)", wish(.disconnect, 1), "answer 9: done", "waits", "answer 9: done", "waits",
            "waits", "stop sync, cancel call 7, wait for call 7 → stopping", "waits", "waits",
            "release, answer 9: done → open", "waits", "end pause, release, answer 9: done → open",
            "wait for call 7"),
        Row(
            "clear (1)", wish(.clear, 1), "open(9) → opening", "waits", "clear(9)", "waits", "waits",
            "stop sync, cancel call 7, wait for call 7 → stopping", "waits", "waits", "clear(9) → open",
            "waits", "end pause, clear(9) → open", "wait for call 7"),
        Row(
            "update schema (1)", wish(.updateSchema, 1), "open(9) → opening", "waits", "apply schema(9)",
            "waits", "waits", "answer 9: connected", "waits", "waits", "answer 9: connected", "waits",
            "answer 9: connected", "answer 9: connected"),
        Row(
            "close (1)", wish(.close(deletingFiles: false), 1), "leave(9)", "waits", "leave(9)", "waits",
            "waits", "stop sync, cancel call 7, wait for call 7 → stopping", "waits", "waits",
            "release, leave(9) → open", "waits", "end pause, release, leave(9) → open", "wait for call 7"),
        Row(
            "close (2)", wish(.close(deletingFiles: false), 2), "leave(9)", "waits", "leave(9)", "waits",
            "waits", "leave(9)", "waits", "waits", "leave(9)", "waits", "leave(9)", "leave(9)"),
        Row(
            "close and delete (1)", wish(.close(deletingFiles: true), 1), "answer 9: in use",
            "answer 9: in use", "answer 9: in use", "answer 9: in use", "answer 9: in use",
            "answer 9: in use", "answer 9: in use", "answer 9: in use", "answer 9: in use",
            "answer 9: in use", "answer 9: in use", "answer 9: in use"),
        Row(
            "connect (1) in call 7", wish(.connect, 1, call: 7), "open(9) → opening", "waits",
            "claim(9) → connecting", "waits", "waits", "stop sync, cancel call 7 → stopping",
            "stop waiting for call 7", "claim(9), stop waiting for call 7 → connecting",
            "claim(9) → connecting", "waits",
            "end pause, claim(9) → connecting", "waits"),
        Row(
            "disconnect (1) in call 7", wish(.disconnect, 1, call: 7), "answer 9: done", "waits",
            "answer 9: done", "waits", "waits", "stop sync, cancel call 7 → stopping",
            "stop waiting for call 7", "answer 9: done → open", "release, answer 9: done → open", "waits",
            "end pause, release, answer 9: done → open", "waits"),
        Row(
            "clear (1) in call 7", wish(.clear, 1, call: 7), "open(9) → opening", "waits", "clear(9)",
            "waits", "waits", "stop sync, cancel call 7 → stopping", "stop waiting for call 7",
            "clear(9), stop waiting for call 7 → open", "clear(9) → open", "waits",
            "end pause, clear(9) → open", "waits"),
        Row(
            "update schema (1) in call 7", wish(.updateSchema, 1, call: 7), "open(9) → opening", "waits",
            "apply schema(9)", "waits", "waits", "answer 9: connected", "stop waiting for call 7",
            "apply schema(9), stop waiting for call 7 → open", "answer 9: connected", "waits",
            "answer 9: connected", "answer 9: connected"),
        Row(
            "close (1) in call 7", wish(.close(deletingFiles: false), 1, call: 7), "leave(9)", "waits",
            "leave(9)", "waits", "waits", "stop sync, cancel call 7 → stopping",
            "stop waiting for call 7", "leave(9), stop waiting for call 7 → open",
            "release, leave(9) → open", "waits",
            "end pause, release, leave(9) → open", "waits"),
        Row(
            "nobody waits for the first wish", .abandoned(ticket: first), "·", "cancel opening", "·", "·",
            "·", "·", "·", "·", "·", "·", "·", "·"),
        Row(
            "instance 1 is dropped", .dropped(instance: 1, ticket: 9), "·", "·", "close connections", "waits",
            "waits", "stop sync, cancel call 7, wait for call 7 → stopping", "waits", "waits",
            "release, close connections → open", "waits", "end pause, release, close connections → open",
            "wait for call 7"),
        Row(
            "instance 2 is dropped", .dropped(instance: 2, ticket: 9), "·", "·", "answer 9: done", "waits",
            "waits", "answer 9: done", "waits", "waits", "answer 9: done", "waits", "answer 9: done",
            "answer 9: done"),
        Row(
            "work done", .finished(nil), "·", "prepare(1) → open", "·", "make(2)",
            "start sync, answer 2: done → syncing", "·", "·", "·", "·", "start sync → syncing", "·", "·"),
        Row(
            "work failed", .finished(TestError(text: "no")), "·", "answer 1: failed → closed", "·",
            "release, answer 2: failed → open", "release, answer 2: failed → open", "·", "·", "·", "·",
            "tell failure, start pause → elsewhere", "·", "·"),
        Row(
            "claimed: ours", .claimed(.us), "·", "·", "·", "make(2)", "·", "·", "·", "·", "·", "·", "·", "·"),
        Row(
            "claimed: another's", .claimed(.another), "·", "·", "·",
            "show elsewhere, answer 2: done → elsewhere", "·", "·", "·", "·", "·", "·", "·", "·"),
        Row(
            "ours now (2)", .holderChanged(.us, ticket: 2), "·", "·", "·", "·", "·", "·", "·", "·",
            "make(2) → connecting", "·", "·", "·"),
        Row(
            "another's now (2)", .holderChanged(.another, ticket: 2), "·", "·", "·", "·", "·",
            "stop sync, cancel call 7 → stopping", "·", "·", "·", "·", "·", "·"),
        Row(
            "another's now (8)", .holderChanged(.another, ticket: 8), "·", "·", "·", "·", "·", "·", "·", "·",
            "·", "·", "·", "·"),
        Row(
            "sync ended", .syncEnded, "·", "·", "·", "·", "·", "release → open", "·", "·", "·", "·", "·",
            "show elsewhere → elsewhere"),
        Row(
            "the pause is over", .pauseOver(number: 1), "·", "·", "·", "·", "·", "·", "·", "·", "·", "·",
            "make(2) → connecting", "·"),
        Row(
            "uploadData (8)", .called(8, .uploadData, instance: 1, connection: 2), "cancel call 8",
            "cancel call 8", "cancel call 8", "cancel call 8", "cancel call 8", "·", "cancel call 8",
            "cancel call 8", "cancel call 8", "cancel call 8", "cancel call 8", "cancel call 8"),
        Row(
            "fetchCredentials (8)", .called(8, .fetchCredentials, instance: 1, connection: 2),
            "cancel call 8", "cancel call 8", "cancel call 8", "cancel call 8", "cancel call 8",
            "start call 8", "cancel call 8", "cancel call 8", "cancel call 8", "cancel call 8",
            "cancel call 8", "cancel call 8"),
        Row(
            "fetchCredentials (8) of another connection",
            .called(8, .fetchCredentials, instance: 1, connection: 5), "cancel call 8", "cancel call 8",
            "cancel call 8", "cancel call 8", "cancel call 8", "cancel call 8", "cancel call 8",
            "cancel call 8", "cancel call 8", "cancel call 8", "cancel call 8", "cancel call 8"),
        Row(
            "call 7 ended", .callEnded(7), "·", "·", "·", "·", "·", "·", "stop waiting for call 7",
            "stop waiting for call 7, release, answer 3: done → open", "·", "·", "·", "·"),
        Row(
            "call 7 has had its time", .patienceOver(call: 7, number: 1), "·", "·", "·", "·", "·", "·",
            "cut off call 7", "cut off call 7, release, answer 3: done → open", "·", "·", "·", "·"),
    ]

    /// What can happen; the switches have no default on purpose.
    enum Kind: CaseIterable {
        case joined, dropped, open, connect, disconnect, clear, updateSchema, close, closeWithFiles
        case abandoned, finished, failed, claimedHere, claimedElsewhere, becameOurs, becameAnothers
        case syncEnded, pauseOver, upload, fetch, callEnded, patienceOver

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
            case .claimed(let holder): self = holder == .us ? .claimedHere : .claimedElsewhere
            case .holderChanged(let holder, _): self = holder == .us ? .becameOurs : .becameAnothers
            case .syncEnded: self = .syncEnded
            case .pauseOver: self = .pauseOver
            case .called(_, let kind, _, _): self = kind == .uploadData ? .upload : .fetch
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

    /// Whoever gave up first, too.
    @Test func anOpeningThatNobodyNeedsAnyMoreIsCancelled() {
        var reducer = Example.opening.reducer
        _ = reducer.reduce(Self.wish(.open, 1, id: 2))
        #expect(reducer.reduce(.abandoned(ticket: 1)).map(\.text) == [])
        #expect(reducer.reduce(.abandoned(ticket: 2)).map(\.text) == ["answer 2: failed", "cancel opening"])
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
        case .startSync: "start sync"
        case .stopSync: "stop sync"
        case .discardSync: "discard sync"
        case .showElsewhere: "show elsewhere"
        case .release: "release"
        case .tellFailure: "tell failure"
        case .startPause: "start pause"
        case .endPause: "end pause"
        case .startCall(let id): "start call \(id)"
        case .cancelCall(let id): "cancel call \(id)"
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
        case .claim(let ticket): "claim(\(ticket))"
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
