/// Decides until when a body must have gone on.
struct BodyPace {
    private let timeout: Duration
    private let bytesPerSecond: Double
    private let grace: Duration
    /// 0 asks for none.
    private let leastPerSecond: Double

    /// Makes the pace of one body.
    ///
    /// - Parameters:
    ///   - configuration: The times of all.
    ///   - length: The length that it announces, if it does. Once its grace is over it must keep a pace at which it ends
    ///     in time; one that cannot is given up early.
    init(_ configuration: HTTPServerConfiguration, length: Int?) {
        timeout = configuration.bodyTimeout
        bytesPerSecond = Double(configuration.bodyBytesPerSecond)
        grace = configuration.bodyGrace
        let least = Double(configuration.bodyMinimumPerSecond)
        guard least > 0, let length else {
            leastPerSecond = least
            return
        }
        let whole = timeout / .seconds(1) + Double(length) / bytesPerSecond
        leastPerSecond = max(least, Double(length) / whole)
    }

    /// Returns when the next byte is too late.
    ///
    /// - Parameters:
    ///   - start: When the body began to be read; later by the time for which it was held back.
    ///   - received: How many bytes of it have come.
    /// - Returns: The earlier of the two: the end of all its time, and the moment from which on its pace is too slow.
    func deadline(start: ContinuousClock.Instant, received: Int) -> ContinuousClock.Instant {
        let end = start + timeout + Duration.seconds(Double(received) / bytesPerSecond)
        guard leastPerSecond > 0 else { return end }
        return min(end, start + grace + Duration.seconds(Double(received) / leastPerSecond))
    }
}
