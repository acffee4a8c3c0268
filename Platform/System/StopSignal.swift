import CPowerSyncSystem

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The wish of the terminal or the supervisor that the program end.
package enum StopSignal {
    /// Returns every SIGINT, SIGTERM and SIGHUP that arrives from now on, each as one element.
    ///
    /// SIGHUP, the end of the terminal, is left alone where it is ignored, as under `nohup`.
    ///
    /// While a stream lives, the signals do not end the program; when the last stream has ended (its consumer was
    /// cancelled or dropped it), they do so again. At most 16 streams live at a time, those of ``ScreenSignal`` and
    /// ``ReloadSignal`` included; a further one ends at once.
    ///
    /// - Parameter hangUp: Whether SIGHUP is among them; without, it stays what it is, or what ``ReloadSignal`` makes of it.
    /// - Returns: The signals.
    package static func stream(hangUp: Bool = true) -> AsyncStream<Int32> {
        SignalStream.make { powersync_stop_signals_open(hangUp, $0) }
    }
}

/// The wish that a program without a terminal read its configuration again.
package enum ReloadSignal {
    /// Returns every SIGHUP that arrives from now on, each as one element; it is left alone where it is ignored.
    ///
    /// A ``StopSignal`` that has not left it out gets it, too. It ends as the streams of that do.
    package static func stream() -> AsyncStream<Int32> {
        SignalStream.make { powersync_reload_signals_open($0) }
    }
}

/// What a program has to know that draws on a terminal and has changed its modes.
package enum ScreenSignal {
    /// Returns every SIGWINCH, SIGCONT and SIGQUIT that arrives from now on, each as one element.
    ///
    /// The terminal has another size, the program goes on after the shell had the terminal, or somebody has typed
    /// Control-Backslash, by which a program ends that does not listen, and leaves the terminal as it is.
    ///
    /// It ends as the streams of ``StopSignal`` do.
    package static func stream() -> AsyncStream<Int32> {
        SignalStream.make { powersync_screen_signals_open($0) }
    }
}

/// Signals as the elements of a stream.
private enum SignalStream {
    /// Begins to listen.
    ///
    /// - Parameter open: turns the signals into bytes; returns the read end of a pipe and sets the slot to give back.
    /// - Returns: the signals.
    static func make(_ open: (_ slot: UnsafeMutablePointer<Int32>) -> Int32) -> AsyncStream<Int32> {
        let (stream, continuation) = AsyncStream.makeStream(of: Int32.self)
        var slot: Int32 = 0
        let descriptor = open(&slot)
        guard descriptor >= 0 else {
            continuation.finish()
            return stream
        }
        let opened = slot
        continuation.onTermination = { _ in powersync_signals_close(opened) }
        do throws(SystemError) {
            try DetachedThread.start {
                var byte: UInt8 = 0
                while true {
                    let count = read(descriptor, &byte, 1)
                    if count < 0, errno == EINTR { continue }
                    if count <= 0 || byte == 0 { break }
                    continuation.yield(Int32(byte))
                }
                powersync_signals_release(opened)
            }
        } catch {
            // Nobody would read the pipe: the signals keep their default action and end the program.
            continuation.finish()
        }
        return stream
    }
}
