import PowerSyncCommandLine
import PowerSyncSystem
import PowerSyncWire

/// What the demo shows: what happened, where, after how many milliseconds; for people or as JSON lines.
package final class DemoTimeline: Sendable {
    /// How the timeline is written.
    package enum Style: Sendable {
        /// For a person; with colours and a moving bar if `isTerminal`.
        case text(isTerminal: Bool)
        /// One JSON object a line.
        case json
        /// Not at all, for tests.
        case silent
    }

    private struct State {
        var chapter = 0
        var chapterStart = ContinuousClock.now
        var shown: [String: Int] = [:]
        var barIsOpen = false
    }

    private let style: Style
    private let start = ContinuousClock.now
    private let state = Lock(State())

    /// Makes a timeline that begins now.
    package init(_ style: Style) { self.style = style }

    /// Milliseconds since the timeline began.
    package var elapsed: Int { Self.milliseconds(since: start) }

    /// Begins a chapter; the times of its events count from here.
    package func chapter(_ title: String) {
        let number = state.withLock { state in
            state.chapter += 1
            state.chapterStart = .now
            state.shown = [:]
            return state.chapter
        }
        switch style {
        case .text(let isTerminal):
            write("\n" + (isTerminal ? "\u{1B}[1m\(number)  \(title)\u{1B}[0m" : "\(number)  \(title)"))
        case .json: json([("chapter", .integer(number)), ("title", .string(title))])
        case .silent: break
        }
    }

    /// Shows one event.
    ///
    /// - Parameters:
    ///   - place: where it happened: a device, the backend, Postgres.
    ///   - what: what happened.
    package func event(_ place: String, _ what: String) {
        let (chapter, milliseconds) = state.withLock { state in
            state.barIsOpen = false
            return (state.chapter, Self.milliseconds(since: state.chapterStart))
        }
        switch style {
        case .text(let isTerminal):
            let time = Self.right("\(milliseconds)", 7) + " ms"
            let column = place + String(repeating: " ", count: max(1, 10 - place.count))
            write(
                isTerminal
                    ? "\u{1B}[2K\u{1B}[2m\(time)\u{1B}[0m  \u{1B}[36m\(column)\u{1B}[0m\(what)"
                    : "\(time)  \(column)\(what)")
        case .json:
            json([
                ("chapter", .integer(chapter)), ("ms", .integer(milliseconds)), ("where", .string(place)),
                ("what", .string(what)),
            ])
        case .silent: break
        }
    }

    /// Shows how far a download is; on a terminal as a bar that moves, else in steps of a quarter.
    ///
    /// - Parameters:
    ///   - place: the device.
    ///   - done: operations that have arrived.
    ///   - total: operations that the download consists of.
    package func progress(_ place: String, done: Int, total: Int) {
        guard total > 0 else { return }
        let percent = min(100, done * 100 / total)
        let isNews = state.withLock { state in
            let step = isMoving ? percent : percent / 25
            guard state.shown[place].map({ step > $0 }) ?? true else { return false }
            state.shown[place] = step
            return true
        }
        guard isNews else { return }
        switch style {
        case .text(let isTerminal):
            let filled = percent * 30 / 100
            let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: 30 - filled)
            let column = place + String(repeating: " ", count: max(1, 10 - place.count))
            let line = "            \(column)\(bar) \(Self.right("\(percent)", 3)) %  \(done) of \(total)"
            if isTerminal { StandardOutput.write("\u{1B}[2K" + line + "\r") } else { write(line) }
        case .json:
            json([("where", .string(place)), ("downloaded", .integer(done)), ("total", .integer(total))])
        case .silent: break
        }
    }

    /// Shows the last line.
    ///
    /// - Parameters:
    ///   - hasConverged: whether all copies are equal.
    ///   - text: what the end is, or what differs.
    package func end(hasConverged: Bool, _ text: String) {
        switch style {
        case .text(let isTerminal):
            let colour = hasConverged ? "\u{1B}[32m" : "\u{1B}[31m"
            write("\n" + (isTerminal ? "\(colour)\(text)\u{1B}[0m" : text))
        case .json:
            json([("converged", .bool(hasConverged)), ("ms", .integer(elapsed)), ("what", .string(text))])
        case .silent: break
        }
    }

    private var isMoving: Bool {
        if case .text(isTerminal: true) = style { true } else { false }
    }

    private func json(_ members: [(String, JSON)]) {
        write(JSON.object(members.map { JSONMember($0.0, $0.1) }).text)
    }

    /// Writes at once, for those who read while it happens.
    ///
    /// A reader that has gone away gets no more lines; the demo itself goes on to its exit status.
    private func write(_ line: String) { StandardOutput.print(line) }

    private static func milliseconds(since instant: ContinuousClock.Instant) -> Int {
        Int((ContinuousClock.now - instant) / .milliseconds(1))
    }

    private static func right(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }
}
