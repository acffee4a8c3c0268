import Foundation
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSync

/// The table of Client/Sync/SPEC.md: every event in every state, each cell compared with what the reducer does.
///
/// A pair cannot be left out: the page has a cell for each state, an event of `rows` without a row of the page fails
/// and the other way round, a kind of event that is not in `rows` fails, and an event without a kind does not compile.
@Suite struct SyncReducerTableTests {
    typealias Phase = SyncReducerExample.Phase

    struct Row: Sendable, CustomTestStringConvertible {
        /// The event's name on the page.
        let name: String
        let event: SyncEvent
        /// How the app obtains write checkpoints.
        var mode = SyncStart.CheckpointMode.legacy

        init(_ name: String, _ event: SyncEvent, mode: SyncStart.CheckpointMode = .legacy) {
            self.name = name
            self.event = event
            self.mode = mode
        }

        var testDescription: String { name }
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
            case .data: self = .data
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

    static let rows: [Row] = {
        // A line that cannot be read leaves its kind without a row, which fails.
        func line(_ text: String) -> SyncEvent { (try? SyncReducerExample.line(text)) ?? .stop }
        func data(_ lines: String...) -> SyncEvent {
            (try? lines.map(SyncLines.storable)).map { SyncEvent.data($0) } ?? .stop
        }
        func request(_ priority: Int?, _ cause: ApplyRequest.Cause = .line, id: Int? = nil) -> ApplyRequest {
            SyncReducerExample.request(priority, cause, writeCheckpoint: id)
        }
        let mismatch = ApplyOutcome.mismatch([
            ChecksumMismatch(bucket: "a", expected: Checksum(1), present: .zero, superseded: .zero)
        ])
        let again = SyncReducerExample.subscriptions
        return [
            Row("start", .start(SyncReducerExample.start(.legacy))),
            Row("prepared", .prepared(SyncReducerExample.preparation)),
            Row("prepared (mode `requests`)", .prepared(SyncReducerExample.preparation), mode: .requests),
            Row("connection established", .connectionEstablished),
            Row("connection ended", .connectionEnded),
            Row("checkpoint", line(SyncLines.checkpoint(2, [.init("b")]))),
            Row(
                "checkpoint diff",
                line(SyncLines.diff(2, updated: [.init("b")], removed: ["a"], writeCheckpoint: 4))),
            Row("tracked", .tracked(SyncReducerExample.tracked)),
            Row("data", line(SyncLines.data("a", SyncLines.put(1, "r")))),
            Row(
                "data (two lines)",
                data(
                    SyncLines.data("a", SyncLines.put(1, "r")), SyncLines.data("b", SyncLines.put(2, "s")))),
            Row(
                "data with a PUT without type or id",
                line(SyncLines.data("a", SyncLines.put(1, "r"), BadLine.putWithoutID))),
            Row("saved", .saved([ExactText("a"): 2])),
            Row("checkpoint complete", line(SyncLines.complete())),
            Row("partial complete (priority 1)", line(SyncLines.partial(1))),
            Row("partial complete (priority 3)", line(SyncLines.partial(3))),
            Row("applied: applied (complete)", .applied(request(nil), .applied(at: 5))),
            Row("applied: applied (write checkpoint 4)", .applied(request(nil, id: 4), .applied(at: 5))),
            Row("applied: applied (priority 1)", .applied(request(1), .applied(at: 5))),
            Row("applied: blocked (complete)", .applied(request(nil), .blocked)),
            Row("applied: blocked (priority 1)", .applied(request(1), .blocked)),
            Row("applied: mismatch (complete)", .applied(request(nil), mismatch)),
            Row("applied: mismatch (priority 1)", .applied(request(1), mismatch)),
            Row("token expires in 0", line(SyncLines.tokenExpires(in: 0))),
            Row("token expires in 1", line(SyncLines.tokenExpires(in: 1))),
            Row("token expires in 30", line(SyncLines.tokenExpires(in: 30))),
            Row("token expires in 31", line(SyncLines.tokenExpires(in: 31))),
            Row("unknown line", line("{\"new\":1}")),
            Row("token refreshed", .tokenRefreshed),
            Row(
                "subscriptions changed", .subscriptionsChanged(active: [StreamKey(name: "t")])),
            Row("rebuilt: same", .subscriptionsRebuilt(again, active: [])),
            Row("rebuilt: different", .subscriptionsRebuilt([], active: [])),
            Row("upload completed", .uploadCompleted),
            Row("target (none)", .target(nil)),
            Row("target (3, seen)", .target(3)),
            Row("target (4, not seen)", .target(4)),
            Row("applied(pending): applied", .applied(request(nil, .completedUpload), .applied(at: 5))),
            Row("applied(pending): blocked", .applied(request(nil, .completedUpload), .blocked)),
            Row("applied(pending): mismatch", .applied(request(nil, .completedUpload), mismatch)),
            Row("stop", .stop),
        ]
    }()

    /// The cells of the page by row and state; a cell `as X` is that of the state X.
    private static func page() throws -> [(name: String, cells: [Phase: String])] {
        let lines = try Repository.text("Client/Sync/SPEC.md").split(separator: "\n")
        let start = try #require(lines.firstIndex { $0.hasPrefix("| event |") })
        #expect(lines[start] == "| event | \(Phase.allCases.map(\.rawValue).joined(separator: " | ")) |")
        return try lines[(start + 2)...].prefix { $0.hasPrefix("|") }.map { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            try #require(cells.count == 1 + Phase.allCases.count, "\(line)")
            let own = Dictionary(uniqueKeysWithValues: zip(Phase.allCases, cells[1...]))
            let resolved = own.mapValues { cell in
                cell.hasPrefix("as ") ? Phase(rawValue: String(cell.dropFirst(3))).flatMap { own[$0] } : cell
            }
            return (cells[0], resolved.compactMapValues { $0 })
        }
    }

    @Test func thePageHasARowForEachEventOfThisTableInItsOrder() throws {
        #expect(try Self.page().map(\.name) == Self.rows.map(\.name))
    }

    @Test func everyKindOfEventHasARow() {
        let missing = Set(Kind.allCases).subtracting(Self.rows.map { Kind($0.event) })
        #expect(missing.isEmpty)
    }

    @Test(arguments: rows, Phase.allCases) func everyCellSaysWhatTheReducerDoes(
        _ row: Row, _ phase: Phase
    ) throws {
        let cells = try #require(try Self.page().first { $0.name == row.name }).cells
        let cell = try SyncReducerExample.cell(row.event, in: phase, mode: row.mode)
        #expect(cell == cells[phase])
    }

    @Test(arguments: rows, Phase.allCases) func closingIsTheLastEffectAndEndsTheIteration(
        _ row: Row, _ phase: Phase
    ) throws {
        var state = try SyncReducerExample.state(phase, row.mode)
        // What breaks the protocol has no effects.
        guard let effects = try? SyncReducer.reduce(&state, row.event) else { return }
        #expect(!effects.dropLast().contains { $0.isClose })
        #expect(state.isActive != (effects.last?.isClose ?? !state.isActive))
    }
}

extension SyncEffect {
    fileprivate var isClose: Bool { if case .close = self { true } else { false } }
}
