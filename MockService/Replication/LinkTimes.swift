/// How long the link to the source may be silent, and what else waits for it.
package struct LinkTimes: Sendable {
    /// How long a statement may say nothing; for COPY from one piece to the next.
    package var statement = Duration.seconds(10)
    /// How often the source is told how far we are, and asked for a sign of life.
    package var status = Duration.seconds(5)
    /// How long the stream may be silent before the link is made again.
    package var silence = Duration.seconds(15)
    /// The longest that such a silence is borne, once links that were made again were silent too.
    package var longestSilence = Duration.seconds(900)
    /// How often is said what the making of a slot waits for.
    package var notice = Duration.seconds(10)
    /// How long replication may take no step before the process counts as stuck.
    package var liveness = Duration.seconds(10)

    /// Makes times with the defaults.
    package init() {}
}

/// How long the next link may be silent.
///
/// A walsender that decodes a large transaction of tables that are not published says nothing for many seconds, although it
/// is healthy: a link that is made again then begins from the start. So patience doubles from one such link to the next,
/// until a commit arrives.
package struct LinkPatience: Sendable, Equatable {
    private let times: (shortest: Duration, longest: Duration)
    private var isMadeAgain = false
    /// The patience with the link of now.
    package private(set) var current: Duration

    /// Begins with a first link.
    package init(_ times: LinkTimes) {
        self.times = (times.silence, times.longestSilence)
        current = times.silence
    }

    /// A commit has arrived.
    package mutating func committed() {
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
