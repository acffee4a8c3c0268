import CPowerSyncSystem

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A program started by this one, with default signal actions and no descriptor but its three streams.
package struct ChildProcess: Sendable {
    /// Where a standard stream of the program leads.
    package enum Stream: Sendable {
        /// To /dev/null.
        case null
        /// To the same stream of this program.
        case inherit
        /// To an open descriptor, which stays the caller's.
        case descriptor(Int32)
        /// To a pipe whose other end the caller gets and closes.
        case pipe
    }

    /// How a program ended.
    package enum ExitStatus: Sendable, Hashable {
        /// It ended by itself with this status.
        case exited(Int32)
        /// This signal ended it.
        case signalled(Int32)
    }

    /// The process id; it is nobody else's as long as this value lives and the program was not reaped.
    package let id: Int32
    /// The end of the pipe to write to, if asked for; the caller closes it.
    package let input: Int32?
    /// The end of the pipe to read from, if asked for; the caller closes it.
    package let output: Int32?
    /// The end of the pipe to read from, if asked for; the caller closes it.
    package let error: Int32?
    let reaper: Reaper

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - executable: A path, or a name to look up in PATH.
    ///   - arguments: Its arguments, without the name of the program.
    ///   - environment: All of its environment; nil hands on this program's.
    ///   - workingDirectory: Where it starts; nil for here.
    ///   - input: Where its standard input leads.
    ///   - output: Where its standard output leads.
    ///   - error: Where its standard error leads.
    ///   - ownSession: Whether it leaves the terminal's session, so that Ctrl-C reaches this program alone.
    ///   - endsItsGroup: Whether what it leaves behind in its process group is killed when it ends; its own session
    ///     makes that group its own.
    /// - Returns: The running program.
    /// - Throws: When it cannot be started, for example because it does not exist.
    package static func spawn(
        _ executable: String, _ arguments: [String], environment: [String: String]? = nil,
        workingDirectory: String? = nil, input: Stream = .null, output: Stream = .null, error: Stream = .null,
        ownSession: Bool = false, endsItsGroup: Bool = false
    ) throws(SystemError) -> ChildProcess {
        precondition(ownSession || !endsItsGroup, "without a session of its own its group is ours")
        var ends = PipeEnds()
        defer { ends.closeTheirs() }
        do throws(SystemError) {
            let streams = [
                try ends.theirs(input, index: 0), try ends.theirs(output, index: 1),
                try ends.theirs(error, index: 2),
            ]
            var process: pid_t = 0
            let status = withCStrings([executable] + arguments) { arguments in
                withOptionalCStrings(environment?.map { "\($0.key)=\($0.value)" }) { environment in
                    powersync_spawn(
                        &process, executable, arguments, environment, workingDirectory, streams, ownSession)
                }
            }
            if status < 0 {
                throw SystemError(.process, "cannot start \(executable)", errno: -status)
            }
            return ChildProcess(
                id: process, input: ends.ours[0], output: ends.ours[1], error: ends.ours[2],
                reaper: try Reaper(process, endsItsGroup: endsItsGroup))
        } catch let failure {
            ends.closeOurs()
            throw failure
        }
    }

    /// Returns how the program ended, once it has; any number of tasks may ask, at any time.
    package func wait() async -> ExitStatus {
        await withResumption { continuation in
            reaper.whenEnded { continuation.resume(returning: $0) }
        }
    }

    /// Sends a signal to the program; does nothing once it has ended.
    package func signal(_ number: Int32) { reaper.signal(number) }

    /// Whether the program has ended and was reaped.
    package var hasEnded: Bool { reaper.hasEnded }
}

/// Both ends of up to three pipes while a program is being started.
private struct PipeEnds {
    var ours: [Int32?] = [nil, nil, nil]
    private var toClose: [Int32] = []

    mutating func theirs(_ stream: ChildProcess.Stream, index: Int) throws(SystemError) -> Int32 {
        switch stream {
        case .null: return Int32(POWERSYNC_SPAWN_NULL)
        case .inherit: return Int32(POWERSYNC_SPAWN_INHERIT)
        case .descriptor(let descriptor): return descriptor
        case .pipe:
            var readEnd: Int32 = 0
            var writeEnd: Int32 = 0
            try SystemError.check(powersync_pipe(&readEnd, &writeEnd), .process, "cannot make a pipe")
            ours[index] = index == 0 ? writeEnd : readEnd
            let other = index == 0 ? readEnd : writeEnd
            toClose.append(other)
            return other
        }
    }

    mutating func closeTheirs() {
        for descriptor in toClose { close(descriptor) }
        toClose = []
    }

    mutating func closeOurs() {
        for case .some(let descriptor) in ours { close(descriptor) }
        ours = [nil, nil, nil]
    }
}

private func withCStrings<R>(
    _ strings: [String], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> R
) -> R {
    let copies = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: strings.count + 1)
    for (index, string) in strings.enumerated() { (copies + index).initialize(to: strdup(string)) }
    (copies + strings.count).initialize(to: nil)
    defer {
        for index in strings.indices { free(copies[index]) }
        copies.deallocate()
    }
    return body(copies)
}

private func withOptionalCStrings<R>(
    _ strings: [String]?, _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> R
) -> R {
    guard let strings else { return body(nil) }
    return withCStrings(strings) { body($0) }
}
