import PowerSyncSystem

/// How long the link to the source may be silent, and what else waits for it.
package struct LinkTimes: Sendable {
    /// How long a statement may say nothing.
    package var statement = Duration.seconds(10)
    /// How long the reading of a table may bring nothing, from one piece to the next.
    package var reading = Duration.seconds(30)
    /// How often the source is told how far we are, and asked for a sign of life.
    package var status = Duration.seconds(5)
    /// How long the stream may be silent before the link is made again.
    package var silence = Duration.seconds(15)
    /// The longest that such a silence is borne, once links that were made again were silent too.
    package var longestSilence = Duration.seconds(900)
    /// How often is said what the making of a slot waits for.
    package var notice = Duration.seconds(10)
    /// How long replication may take no step, beside the waits that have a deadline, before the process counts as stuck.
    package var liveness = Duration.seconds(10)

    /// Makes times with the defaults.
    package init() {}
}

/// How long the next link may be silent.
///
/// A walsender that decodes a large transaction of tables that are not published says nothing for many seconds, although it
/// is healthy, and so does a server that looks for the first of few published rows: a link that is made again then begins
/// from the start. So patience doubles from one such link to the next, until what is waited for arrives.
package struct LinkPatience: Sendable, Equatable {
    private let times: (shortest: Duration, longest: Duration)
    private var isMadeAgain = false
    /// The patience with the link of now.
    package private(set) var current: Duration

    /// Begins with a first link.
    package init(from shortest: Duration, to longest: Duration) {
        times = (shortest, longest)
        current = shortest
    }

    /// What is waited for has arrived: a commit, or all of a table.
    package mutating func arrived() {
        current = times.shortest
        isMadeAgain = false
    }

    /// The link was silent for too long and is made again.
    package mutating func wasSilent() {
        if isMadeAgain { current = min(current * 2, times.longest) }
        isMadeAgain = true
    }

    /// Compares the patience and how it came about.
    package static func == (left: LinkPatience, right: LinkPatience) -> Bool {
        left.current == right.current && left.isMadeAgain == right.isMadeAgain
    }
}

/// What one replicator has learnt of its links, which each attempt takes up from the one before.
final class LinkMemory: Sendable {
    /// What was learnt.
    struct Known: Sendable {
        /// Patience with the stream of changes.
        var stream: LinkPatience
        /// Patience with the reading of a table.
        var reading: LinkPatience
        /// The session of the last link that streamed.
        var session: Int32?
        /// Whether the attempt of now has brought a commit.
        var hasCommitted = false
        /// Whether it was said that commits may wait for this service.
        var hasToldOfStandby = false
        /// Slots that were named because nobody uses them.
        var strays = RepeatedFailures()
        /// Why tables of the configuration were said to be left out.
        var missing: [String: RepeatedFailures] = [:]
    }

    private let known: Lock<Known>

    init(_ times: LinkTimes) {
        known = Lock(
            Known(
                stream: LinkPatience(from: times.silence, to: times.longestSilence),
                reading: LinkPatience(from: times.reading, to: times.longestSilence)))
    }

    /// What is known now.
    var now: Known { known.withLock { $0 } }

    /// Notes something, and returns what came of it.
    @discardableResult
    func note<R>(_ change: (inout Known) -> R) -> R { known.withLock { change(&$0) } }
}
