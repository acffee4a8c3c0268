import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Writes lines on a thread of its own, whole and in their order: who works does not wait for whoever reads them.
///
/// Lines that come within a millisecond are written together. So many are kept for a reader who takes none; those that
/// come then are left out and counted, and their number stands where they would stand. A program that is killed loses
/// what came in its last millisecond; one that ends calls `end`.
///
/// Safe because what changes is touched only between lock and unlock of the mutex.
package final class LineWriter: @unchecked Sendable {
    /// How many lines are kept.
    package static let limit = 8_192
    /// The most bytes of lines that are written together, which no other writer of a pipe can part.
    private static let piece = 4_096

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var lines: [String] = []
    /// How many are left out since a line was kept last.
    private var leftOut = 0
    /// Whether the thread waits for a line.
    private var isWaiting = false
    /// Whether the thread writes what it has taken.
    private var isWriting = false
    private var isEnded = false
    private let limit: Int
    private let notice: @Sendable (Int) -> String
    private let write: @Sendable (String) -> Void

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - limit: how many lines are kept.
    ///   - notice: makes the line that says how many were left out.
    ///   - write: writes some lines with line ends between them; standard error, with one behind them, by default.
    /// - Throws: `SystemError` without a thread.
    package init(
        limit: Int = LineWriter.limit, notice: @escaping @Sendable (Int) -> String,
        write: @escaping @Sendable (String) -> Void = { StandardError.print($0) }
    ) throws(SystemError) {
        self.limit = limit
        self.notice = notice
        self.write = write
        let made = pthread_mutex_init(mutex, nil) == 0 && pthread_cond_init(condition, nil) == 0
        precondition(made, "no mutex left")
        try DetachedThread.start { [self] in run() }
    }

    deinit {
        pthread_cond_destroy(condition)
        condition.deallocate()
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    private func locked<Value>(_ body: () -> Value) -> Value {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }

    /// Takes a line, and returns at once; behind `end` it is written at once.
    ///
    /// - Parameter line: the line, without its end.
    package func put(_ line: String) {
        let isTaken = locked { () -> Bool in
            guard !isEnded else { return false }
            guard lines.count < limit else {
                leftOut += 1
                return true
            }
            takeNotice()
            lines.append(line)
            if isWaiting {
                isWaiting = false
                pthread_cond_signal(condition)
            }
            return true
        }
        if !isTaken { write(line) }
    }

    /// Says how many lines were left out, in their place.
    private func takeNotice() {
        guard leftOut > 0 else { return }
        lines.append(notice(leftOut))
        leftOut = 0
    }

    /// Writes what there is and ends the thread.
    ///
    /// - Parameter patience: how long that may take; a reader who takes nothing does not keep a program from its end.
    package func end(within patience: Duration = .seconds(1)) {
        locked {
            takeNotice()
            isEnded = true
            pthread_cond_signal(condition)
        }
        let deadline = ContinuousClock.now + patience
        while locked({ isWriting || !lines.isEmpty }), ContinuousClock.now < deadline {
            DetachedThread.sleep(for: .milliseconds(1))
        }
    }

    private func run() {
        while let taken = take() {
            var piece = ""
            for line in taken {
                if !piece.isEmpty, piece.utf8.count + line.utf8.count + 2 > Self.piece {
                    write(piece)
                    piece = ""
                }
                piece += piece.isEmpty ? line : "\n" + line
            }
            write(piece)
            let goesOn = locked { () -> Bool in
                isWriting = false
                return !isEnded
            }
            if goesOn { DetachedThread.sleep(for: .milliseconds(1)) }
        }
    }

    /// Waits for lines and takes all there are; nil at the end.
    private func take() -> [String]? {
        locked { () -> [String]? in
            while lines.isEmpty, !isEnded {
                isWaiting = true
                pthread_cond_wait(condition, mutex)
            }
            isWaiting = false
            guard !lines.isEmpty else { return nil }
            isWriting = true
            defer { lines = [] }
            return lines
        }
    }
}
