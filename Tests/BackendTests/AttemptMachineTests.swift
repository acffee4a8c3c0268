import PowerSyncBackend
import PowerSyncTestSupport
import Testing

/// The table of Backend/Apply/SPEC.md: every event in every phase, each cell compared with what the machine does.
struct AttemptMachineTests {
    /// With texts for plans.
    typealias Machine = AttemptMachine<String>
    typealias Event = Machine.Event
    typealias Phase = Machine.Phase

    private static func refusal(_ code: String) -> Refusal { Refusal(code: code, message: "") }

    /// The columns of the page.
    static let phases: [(name: String, phase: Phase)] = [
        ("planning", .planning), ("applying", .applying("P")), ("consulting", .consulting),
        ("looking", .looking(nil)), ("looking D", .looking(refusal("D"))),
        ("rejecting", .rejecting(refusal("X"))), ("counting C", .counting(refusal("C"), code: "TIMEOUT")),
        ("waiting", .waiting(code: "CONTENTION")), ("ended", .ended(.applied)),
    ]

    private static let verdicts = [
        ("rejected", "23514"), ("drift", "42703"), ("bug", "42601"), ("suspect", "57014"), ("retry", "40001"),
        ("unavailable", "53300"), ("misconfigured", "28000"),
    ]

    /// The rows of the page, in their order.
    static let events: [(name: String, event: Event)] = {
        let refusal = Self.refusal("R")
        var events: [(String, Event)] = [
            ("planned", .planned("P")), ("refused", .refused(refusal)),
            ("refused, unseen", .refusedUnseen(refusal)),
            ("absent", .absent), ("committed", .committed), ("taken", .taken), ("stale", .stale),
            ("disabled", .disabled),
        ]
        let places: [(String, Machine.Place)] = [
            ("several rows", .severalRows), ("one row", .oneRow), ("COMMIT", .commit), ("ours", .ours),
        ]
        for (kind, state) in verdicts {
            for (name, place) in places {
                let verdict = DatabaseVerdict(sqlstate: state)
                events.append(("failed: \(kind), \(name)", .failed(verdict, place, refusal)))
            }
        }
        return events + [
            ("known: all", .known(.all)), ("known: some", .known(.some)), ("known: none", .known(.none)),
            ("looked: newer", .looked(.newer)), ("looked: same", .looked(.same)),
            ("looked: lasting", .looked(.lasting)), ("unreadable", .unreadable),
            ("counted: poison", .counted(isPoison: true)), ("counted: not yet", .counted(isPoison: false)),
            ("waited", .waited), ("gave up", .gaveUp), ("over", .over(othersCommit: false, refusal)),
            ("over while others commit", .over(othersCommit: true, refusal)),
        ]
    }()

    /// What a cell says of a phase.
    private static func text(_ phase: Phase) -> String {
        switch phase {
        case .planning: "planning"
        case .applying: "applying"
        case .consulting: "consulting"
        case .looking(nil): "looking"
        case .looking(let doubt?): "looking \(doubt.code)"
        case .rejecting(let refusal): "rejecting \(refusal.code)"
        case .counting(let refusal, _): "counting \(refusal.code)"
        case .waiting: "waiting"
        case .ended(.applied): "applied"
        case .ended(.replayed): "replayed"
        case .ended(.rejected): "rejected"
        case .ended(.comeAgain(let code)): "again \(code)"
        case .ended(.mistake): "mistake"
        }
    }

    /// The cells of the page, by row.
    private static func page() throws -> [(name: String, cells: [String])] {
        let lines = try Repository.text("Backend/Apply/SPEC.md").split(separator: "\n")
        let start = try #require(lines.firstIndex { $0.hasPrefix("| event |") })
        #expect(lines[start] == "| event | \(phases.map(\.name).joined(separator: " | ")) |")
        return try lines[(start + 2)...].prefix { $0.hasPrefix("|") }.map { line in
            let cells = line.split(separator: "|").map { $0.trimmingPrefix(" ").reversed() }.map {
                String(String($0).trimmingPrefix(" ").reversed())
            }
            try #require(cells.count == 1 + phases.count, "\(line)")
            return (cells[0], Array(cells[1...]))
        }
    }

    @Test func everyCellSaysWhatTheMachineDoes() throws {
        let page = try Self.page()
        #expect(page.map(\.name) == Self.events.map(\.name))
        for (row, (name, event)) in zip(page, Self.events) {
            for (cell, (column, phase)) in zip(row.cells, Self.phases) {
                var machine = Machine(in: phase)
                machine.advance(event)
                let now = Self.text(machine.phase)
                let isRight =
                    switch cell {
                    case "·": now == "mistake"
                    case "ended": machine.phase == phase
                    default: now == cell
                    }
                #expect(isRight, "\(name) in \(column): the page says \(cell), the machine \(now)")
            }
        }
    }

    /// The kinds of event by name; the switch has no default on purpose.
    private static func kind(_ event: Event) -> String {
        switch event {
        case .planned: "planned"
        case .refused: "refused"
        case .refusedUnseen: "unseen"
        case .absent: "absent"
        case .committed: "committed"
        case .taken: "taken"
        case .stale: "stale"
        case .disabled: "disabled"
        case .failed(let verdict, let place, _): "failed \(verdict.kind) \(place)"
        case .known(let known): "known \(known)"
        case .looked(let look): "looked \(look)"
        case .unreadable: "unreadable"
        case .counted(let isPoison): "counted \(isPoison)"
        case .waited: "waited"
        case .gaveUp: "gave up"
        case .over(let othersCommit, _): "over \(othersCommit)"
        }
    }

    @Test func everyKindOfEventHasARow() {
        // 11 without cases, 7 verdicts at 4 places, and the cases of the others.
        let count =
            11 + 7 * 4 + Machine.LedgerKnowledge.allCases.count + Machine.CatalogLook.allCases.count + 2 + 2
        #expect(Set(Self.events.map { Self.kind($0.event) }).count == count)
    }

    /// The invariants of the page, over random sequences of everything that can happen.
    @Test(.namesSeed) func randomSequencesKeepTheInvariants() async throws {
        try await forEachSeed(500) { random in
            var machine = Machine()
            var isRefused = false
            var isSure = false
            for _ in 0..<200 {
                let before = machine.phase
                let (name, event) = try #require(Self.events.randomElement(using: &random))
                machine.advance(event)
                if case .ended = before {
                    #expect(machine.phase == before)
                    break
                }
                if case .over = event, case .ended = machine.phase {
                } else if case .over = event {
                    #expect(
                        machine.phase == .counting(Self.refusal("R"), code: "TIMEOUT")
                            && before == .applying("P"))
                }
                if case .rejecting = machine.phase {
                    // By a refusal of a plan, a failure of one row or of the commit, a lasting drift, or a poison.
                    isRefused =
                        [
                            "refused", "failed: rejected, one row", "failed: rejected, COMMIT",
                            "looked: lasting", "counted: poison",
                        ]
                        .contains(name)
                    #expect(isRefused, "\(name)")
                }
                if machine.phase == .ended(.rejected) {
                    #expect(name == "committed")
                    if case .rejecting = before { isSure = true }
                    #expect(isSure)
                }
                if machine.phase == .ended(.applied) {
                    #expect(name == "committed" && before == .applying("P"))
                }
                if machine.phase == .ended(.replayed) { #expect(name == "known: all") }
                // What is stale, taken or unreadable leads to another plan before anything is rejected.
                if ["stale", "taken", "unreadable"].contains(name), case .rejecting = machine.phase {
                    Issue.record("\(name) led to a rejection")
                }
            }
        }
    }
}
