/// How many dead letters a user may have, and for how long they are kept (backend 3.4; 7, number 29).
package struct DeadLetterPolicy: Sendable, Hashable {
    /// The letters of a user that nobody has seen to.
    package var rows = 10_000
    /// The bytes of what is stored of them, as it was sent: the database may need less.
    package var bytes = 100_000_000
    /// How long letters are kept, whatever has become of them.
    package var kept = Duration.seconds(30 * 86_400)

    /// How old an open letter is that somebody should see to before it goes: three days are left, or a tenth of the time.
    package var warned: Duration { kept - min(.seconds(3 * 86_400), kept / 10) }

    /// Makes the default policy.
    package init() {}

    /// Whether a user has as many as may be.
    ///
    /// - Parameter usage: what there is.
    /// - Returns: true at the quota: the next refused write would be over it.
    package func isFull(_ usage: DeadLetterUsage) -> Bool { usage.rows >= rows || usage.bytes >= bytes }
}

/// What the open dead letters of a user take.
package struct DeadLetterUsage: Sendable, Hashable {
    /// How many there are.
    package var rows: Int
    /// How many bytes are stored of them.
    package var bytes: Int

    /// Makes a usage.
    package init(rows: Int, bytes: Int) {
        self.rows = rows
        self.bytes = bytes
    }
}
