extension Duration {
    /// The longest time that is waited for: a century, which every clock can still count.
    static let longestWait = Duration.seconds(100 * 365 * 24 * 60 * 60)

    /// Takes over a number of seconds of the app, whatever number it is.
    ///
    /// One that is negative, or none, means no time. Infinity and what is beyond a century mean the longest wait, where a
    /// plain conversion would end the process.
    init(waiting seconds: Double) {
        let longest = Self.longestWait / .seconds(1)
        self = seconds > 0 ? (seconds < longest ? .seconds(seconds) : .longestWait) : .zero
    }
}
