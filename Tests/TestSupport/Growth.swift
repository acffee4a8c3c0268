import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Expects that the time of some work grows with its size and not with the square of that.
///
/// Only the time counts for which this thread has a processor, and a part of the work is the measure of the whole, so
/// that neither a slow machine nor others who want its processors make a difference.
///
/// - Parameters:
///   - size: How much there is.
///   - sourceLocation: Where it is expected.
///   - work: The work, and how much of it; it stays on this thread.
/// - Throws: What `work` throws.
package func expectNoSquare(
    of size: Int, sourceLocation: SourceLocation = #_sourceLocation, _ work: (Int) throws -> Void
) rethrows {
    let (parts, samples) = (50, 4)
    // What is made once, at the first use, does not count.
    try work(size / parts)
    var sampled = Duration.zero
    for _ in 0..<samples { sampled += try processorTime { try work(size / parts) } }
    let whole = try processorTime { try work(size) }
    for _ in 0..<samples { sampled += try processorTime { try work(size / parts) } }
    let part = sampled / (2 * samples)
    // Eight times are for what a processor does with more data than its caches hold, and for what disturbs it; the square
    // is fifty times.
    guard whole >= part * (8 * parts) else { return }
    let text = "\(size) took \(whole), a fiftieth of that \(part)"
    Issue.record(Comment(rawValue: text), sourceLocation: sourceLocation)
}

/// For how long this thread had a processor during some work.
private func processorTime(_ work: () throws -> Void) rethrows -> Duration {
    let start = processorTime()
    try work()
    return processorTime() - start
}

/// For how long all threads of this process have had a processor so far.
package func processorTimeOfProcess() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Duration.seconds(time.tv_sec) + Duration.nanoseconds(time.tv_nsec)
}

private func processorTime() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Duration.seconds(time.tv_sec) + Duration.nanoseconds(time.tv_nsec)
}
