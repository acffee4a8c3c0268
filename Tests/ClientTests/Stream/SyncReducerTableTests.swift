import Foundation
import PowerSync
import PowerSyncWire
import Testing

/// The table of Client/Stream/SPEC.md as a literal: every event in every state.
///
/// A pair cannot be left out: a row names all states, a kind of event without a row fails, an event without a kind
/// does not compile, and the rows are those of the page.
@Suite struct SyncReducerTableTests {
    typealias Phase = SyncReducerTests.Phase

    struct Row: Sendable, CustomTestStringConvertible {
        /// The event's name in SPEC.md.
        let name: String
        /// What makes this row differ from others of that name.
        let variant: String?
        let event: SyncEvent
        /// The effects, or the code of the error.
        let outcomes: [Phase: String]

        init(
            _ name: String, variant: String? = nil, _ event: SyncEvent, idle: String, before: String,
            tracking: String, blocked: String
        ) {
            self.name = name
            self.variant = variant
            self.event = event
            outcomes = [.idle: idle, .before: before, .tracking: tracking, .blocked: blocked]
        }

        /// For an event that means the same whether a checkpoint waits or not.
        init(
            _ name: String, variant: String? = nil, _ event: SyncEvent, idle: String, before: String,
            after: String
        ) {
            self.init(
                name, variant: variant, event, idle: idle, before: before, tracking: after, blocked: after)
        }

        var testDescription: String { variant.map { "\(name) (\($0))" } ?? name }
    }

    /// What can happen, each kind of line and of outcome apart; the switch has no default on purpose.
    enum Kind: CaseIterable {
        case start, prepared, established, ended, checkpoint, diff, tracked, data, saved, complete, partial
        case applied, blocked, mismatch, appliedPending, failedPending, token, unknown, refreshed
        case subscriptions, rebuilt, uploadCompleted, target, stop

        init(_ event: SyncEvent) {
            switch event {
            case .start: self = .start
            case .connectionEstablished: self = .established
            case .connectionEnded: self = .ended
            case .line(let line, _):
                switch line {
                case .checkpoint: self = .checkpoint
                case .checkpointDiff: self = .diff
                case .data: self = .data
                case .checkpointComplete: self = .complete
                case .partialCheckpointComplete: self = .partial
                case .tokenExpiresIn: self = .token
                case .unknown: self = .unknown
                }
            case .tokenRefreshed: self = .refreshed
            case .uploadCompleted: self = .uploadCompleted
            case .subscriptionsChanged: self = .subscriptions
            case .stop: self = .stop
            case .prepared: self = .prepared
            case .tracked: self = .tracked
            case .saved: self = .saved
            case .applied(let request, let outcome):
                switch (request.cause, outcome) {
                case (.line, .applied): self = .applied
                case (.line, .blocked): self = .blocked
                case (.line, .mismatch): self = .mismatch
                case (.completedUpload, .applied): self = .appliedPending
                case (.completedUpload, .blocked), (.completedUpload, .mismatch): self = .failedPending
                }
            case .subscriptionsRebuilt: self = .rebuilt
            case .target: self = .target
            }
        }
    }

    static let table: [Row] = {
        // A line that cannot be read leaves its kind without a row, which fails.
        func text(_ text: String) -> SyncEvent { (try? SyncReducerTests.line(text)) ?? .stop }
        func request(_ priority: Int?, _ cause: ApplyRequest.Cause = .line) -> ApplyRequest {
            SyncReducerTests.request(priority, cause)
        }
        let none = "invalid-state"
        let end = "status, close ended"
        let done = "log debug, completed, status"
        let rebuild = "perform prolong, perform rebuild"
        let expired = "perform prolong, fetch expired, close expired"
        let mismatch = ApplyOutcome.mismatch([
            ChecksumMismatch(bucket: "a", expected: Checksum(1), present: .zero, superseded: .zero)
        ])
        let other = [RequestedSubscription(id: 1, name: "s", parameters: "null")]
        return [
            Row(
                "start", .start(SyncStart()), idle: "perform prepare", before: "perform prepare",
                after: "perform prepare"),
            Row(
                "prepared", .prepared(SyncReducerTests.preparation), idle: none, before: "status, open",
                after: "status, open"),
            Row("connection established", .connectionEstablished, idle: none, before: "", after: ""),
            Row("connection ended", .connectionEnded, idle: none, before: end, after: end),
            Row(
                "checkpoint", text(SyncLines.checkpoint(2, [.init("b")])), idle: none,
                before: "perform track", after: "perform track"),
            Row(
                "checkpoint diff", text(SyncLines.diff(2)), idle: none, before: "protocol-violation",
                after: "perform track"),
            Row("tracked", .tracked(SyncReducerTests.tracked), idle: none, before: "", after: ""),
            Row(
                "data", text(SyncLines.data("a", SyncLines.put(1, "r"))), idle: none,
                before: "perform save", after: "perform save"),
            Row(
                "data with a PUT without type or id",
                text(SyncLines.data("a", SyncLines.put(1, "r"), BadLine.putWithoutID)), idle: none,
                before: "protocol-violation", after: "protocol-violation"),
            Row("saved", .saved(bucket: "a", count: 1), idle: none, before: "", after: "status"),
            Row(
                "checkpoint complete", text(SyncLines.complete()), idle: none,
                before: "protocol-violation", after: "perform apply"),
            Row(
                "partial complete", text(SyncLines.partial(1)), idle: none, before: "invalid-state",
                after: "perform apply"),
            Row(
                "applied: applied", variant: "complete", .applied(request(nil), .applied(at: 5)), idle: none,
                before: done, after: done),
            Row(
                "applied: applied", variant: "partial", .applied(request(1), .applied(at: 5)), idle: none,
                before: "status", after: "status"),
            Row(
                "applied: blocked", variant: "complete", .applied(request(nil), .blocked), idle: none,
                before: "log info", after: "log info"),
            Row(
                "applied: blocked", variant: "partial", .applied(request(1), .blocked), idle: none,
                before: "",
                after: ""),
            Row(
                "applied: mismatch", .applied(request(nil), mismatch), idle: none,
                before: "log warning, close mismatch", after: "log warning, close mismatch"),
            Row(
                "token expires ≤ 0", text(SyncLines.tokenExpires(in: 0)), idle: none, before: expired,
                after: expired),
            Row(
                "token expires 1…30", variant: "1", text(SyncLines.tokenExpires(in: 1)), idle: none,
                before: "perform prolong, fetch", after: "perform prolong, fetch"),
            Row(
                "token expires 1…30", variant: "30", text(SyncLines.tokenExpires(in: 30)), idle: none,
                before: "perform prolong, fetch", after: "perform prolong, fetch"),
            Row(
                "token expires > 30", text(SyncLines.tokenExpires(in: 31)), idle: none, before: rebuild,
                after: rebuild),
            Row("unknown line", text("{\"new\":1}"), idle: none, before: "log debug", after: "log debug"),
            Row(
                "token refreshed", .tokenRefreshed, idle: none, before: "close refreshed",
                after: "close refreshed"),
            Row(
                "subscriptions changed", .subscriptionsChanged(active: []), idle: none, before: rebuild,
                after: rebuild),
            Row(
                "rebuilt: same", .subscriptionsRebuilt([], active: []), idle: none, before: "", after: ""),
            Row(
                "rebuilt: different", .subscriptionsRebuilt(other, active: []), idle: none,
                before: "close subscriptions", after: "close subscriptions"),
            Row(
                "upload completed", .uploadCompleted, idle: none, before: "", tracking: "",
                blocked: "perform target"),
            Row(
                "target", variant: "none", .target(nil), idle: none, before: "", tracking: "",
                blocked: "perform apply"),
            Row("target", variant: "above", .target(1), idle: none, before: "", tracking: "", blocked: ""),
            Row(
                "applied(pending): applied", .applied(request(nil, .completedUpload), .applied(at: 5)),
                idle: none, before: done, after: done),
            Row(
                "applied(pending): else", variant: "blocked",
                .applied(request(nil, .completedUpload), .blocked),
                idle: none, before: "log warning", after: "log warning"),
            Row(
                "applied(pending): else", variant: "mismatch",
                .applied(request(nil, .completedUpload), mismatch),
                idle: none, before: "log warning", after: "log warning"),
            Row("stop", .stop, idle: "", before: end, after: end),
        ]
    }()

    @Test(arguments: table, Phase.allCases) func everyPairDoesWhatTheTableSays(
        _ row: Row, _ phase: Phase
    ) throws {
        var state = try SyncReducerTests.state(phase)
        do {
            let effects = try SyncReducer.reduce(&state, row.event).names
            #expect(effects.joined(separator: ", ") == row.outcomes[phase])
            // Closing is the last effect, and nothing is under way after it.
            #expect(!effects.dropLast().contains { $0.hasPrefix("close") })
            if effects.last?.hasPrefix("close") == true { #expect(!state.isActive) }
        } catch {
            #expect(error.code.rawValue == row.outcomes[phase])
        }
    }

    @Test func everyKindOfEventHasARow() {
        let missing = Set(Kind.allCases).subtracting(Self.table.map { Kind($0.event) })
        #expect(missing.isEmpty)
    }

    // MARK: The page

    /// The rows of SPEC.md: name, then the cells for idle, before and tracking.
    private static func page() throws -> [[String]] {
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Client/Stream/SPEC.md")
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        let start = try #require(lines.firstIndex { $0.hasPrefix("| event |") })
        return lines[(start + 2)...].prefix { $0.hasPrefix("|") }.map { line in
            line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    @Test func thePageHasTheSameRows() throws {
        let page = try Self.page()
        #expect(page.allSatisfy { $0.count == 4 })
        #expect(Set(page.map { $0[0] }) == Set(Self.table.map(\.name)))
        #expect(Set(page.map { $0[0] }).count == page.count)
    }

    @Test func errorsAndEndsOfThePageAreThoseOfTheTable() throws {
        for cells in try Self.page() {
            for row in Self.table where row.name == cells[0] {
                for (index, phase) in [Phase.idle, .before, .tracking].enumerated() {
                    var cell = cells[index + 1]
                    if cell == "the same" { cell = cells[index] }
                    let outcome = row.outcomes[phase]
                    switch cell {
                    case "error", "state error":
                        #expect(outcome == "invalid-state", "\(row.name) in \(phase)")
                    case "protocol error": #expect(outcome == "protocol-violation", "\(row.name) in \(phase)")
                    case "·": #expect(outcome == "", "\(row.name) in \(phase)")
                    case "cannot happen", "cannot happen: prepared follows start at once": continue
                    default:
                        let closes = outcome?.contains("close") == true
                        #expect(cell.contains("close") == closes, "\(row.name) in \(phase)")
                    }
                }
            }
        }
    }
}
