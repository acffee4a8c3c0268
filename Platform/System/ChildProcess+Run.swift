import CPowerSyncSystem

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

extension ChildProcess {
    /// The most bytes that `run` collects of each stream.
    package static let outputLimit = 16 << 20

    /// Runs a program to its end and collects what it wrote.
    ///
    /// A program that outlives the time limit, the task or the bound on its output is killed. Descriptors that
    /// grandchildren keep open do not delay the return.
    ///
    /// - Parameters:
    ///   - executable: A path, or a name to look up in PATH.
    ///   - arguments: Its arguments, without the name of the program.
    ///   - environment: All of its environment; nil hands on this program's.
    ///   - input: What it reads; nil for nothing.
    ///   - timeout: How long it may take.
    /// - Returns: How it ended and what it wrote; bytes that are not UTF-8 are replaced.
    /// - Throws: When it cannot be started, or was killed for one of the reasons above.
    package static func run(
        _ executable: String, _ arguments: [String], environment: [String: String]? = nil,
        input: String? = nil,
        timeout: Duration
    ) async throws(SystemError) -> (status: ExitStatus, output: String, error: String) {
        let deadline = ContinuousClock.now + timeout
        let child = try spawn(
            executable, arguments, environment: environment, input: input == nil ? .null : .pipe,
            output: .pipe,
            error: .pipe)
        let result: Result<Collected, SystemError> = await withTaskCancellationHandler {
            await withResumption { continuation in
                do throws(SystemError) {
                    try DetachedThread.start {
                        continuation.resume(
                            returning: Result { () throws(SystemError) in
                                var collector = try OutputCollector(child, input: input, deadline: deadline)
                                return try collector.run()
                            })
                    }
                } catch {
                    for case .some(let end) in [child.input, child.output, child.error] { close(end) }
                    continuation.resume(returning: .failure(error))
                }
            }
        } onCancel: {
            child.signal(SIGKILL)
        }
        if case .failure = result { child.signal(SIGKILL) }
        let status = await child.wait()
        if Task.isCancelled, status == .signalled(SIGKILL) {
            throw SystemError(.cancelled, "\(executable) was killed because its caller was cancelled")
        }
        let collected = try result.get()
        return (
            status, String(decoding: collected.output, as: UTF8.self),
            String(decoding: collected.error, as: UTF8.self)
        )
    }
}

/// What a program wrote.
private struct Collected: Sendable {
    var output: [UInt8] = []
    var error: [UInt8] = []
}

/// Feeds and empties the pipes of one program until it has ended; runs on a thread that may block.
private struct OutputCollector {
    private let deadline: ContinuousClock.Instant
    private var input: ArraySlice<UInt8>
    /// Standard input, output, error and the notice of the end; -1 once closed.
    private var ends: [Int32]
    private var collected = Collected()

    init(_ child: ChildProcess, input: String?, deadline: ContinuousClock.Instant) throws(SystemError) {
        self.deadline = deadline
        self.input = Array((input ?? "").utf8)[...]
        ends = [child.input ?? -1, child.output ?? -1, child.error ?? -1, -1]
        for end in ends where end >= 0 { _ = fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK) }
        var notice: Int32 = 0
        let status = powersync_pipe(&ends[3], &notice)
        if status < 0 {
            closeAll()
            throw SystemError(.process, "cannot make a pipe", errno: -status)
        }
        // Closing the writing end is the notice.
        let noticeEnd = notice
        child.reaper.whenEnded { _ in close(noticeEnd) }
    }

    mutating func run() throws(SystemError) -> Collected {
        defer { closeAll() }
        if input.isEmpty { closeEnd(0) }
        while true {
            var requests = ends.enumerated().map { index, end in
                pollfd(fd: end, events: Int16(index == 0 ? POLLOUT : POLLIN), revents: 0)
            }
            let left = ContinuousClock.now.duration(to: deadline)
            if left <= .zero {
                throw SystemError(.timedOut, "the program did not end in time and was killed")
            }
            let milliseconds =
                left.components.seconds * 1000 + left.components.attoseconds / 1_000_000_000_000_000
            _ = poll(&requests, nfds_t(requests.count), Int32(clamping: milliseconds + 1))
            if requests[0].revents != 0 { feed() }
            // Looked at first: what the program wrote before its end is then surely in the pipes.
            let hasEnded = requests[3].revents != 0
            if hasEnded || requests[1].revents != 0 { try drain(1, into: \.output) }
            if hasEnded || requests[2].revents != 0 { try drain(2, into: \.error) }
            if hasEnded { return collected }
        }
    }

    private mutating func feed() {
        let count = input.withUnsafeBytes { write(ends[0], $0.baseAddress, $0.count) }
        if count > 0 { input = input.dropFirst(count) }
        // A program may end, or close its input, without having read it all.
        if input.isEmpty || (count < 0 && errno != EAGAIN && errno != EINTR) { closeEnd(0) }
    }

    private mutating func drain(_ index: Int, into place: WritableKeyPath<Collected, [UInt8]>)
        throws(SystemError)
    {
        guard ends[index] >= 0 else { return }
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = read(ends[index], &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN { return }
            if count <= 0 { return closeEnd(index) }
            collected[keyPath: place] += buffer[..<count]
            if collected[keyPath: place].count > ChildProcess.outputLimit {
                throw SystemError(.outputTooLarge, "the program wrote too much and was killed")
            }
        }
    }

    private mutating func closeEnd(_ index: Int) {
        if ends[index] >= 0 { close(ends[index]) }
        ends[index] = -1
    }

    private mutating func closeAll() {
        for index in ends.indices { closeEnd(index) }
    }
}
