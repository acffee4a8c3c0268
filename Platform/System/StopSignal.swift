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
    /// cancelled or dropped it), they do so again. At most 16 streams live at a time; a further one ends at once.
    package static func stream() -> AsyncStream<Int32> {
        let (stream, continuation) = AsyncStream.makeStream(of: Int32.self)
        var slot: Int32 = 0
        let descriptor = powersync_stop_signals_open(&slot)
        guard descriptor >= 0 else {
            continuation.finish()
            return stream
        }
        let opened = slot
        continuation.onTermination = { _ in powersync_stop_signals_close(opened) }
        do throws(SystemError) {
            try DetachedThread.start {
                var byte: UInt8 = 0
                while true {
                    let count = read(descriptor, &byte, 1)
                    if count < 0, errno == EINTR { continue }
                    if count <= 0 || byte == 0 { break }
                    continuation.yield(Int32(byte))
                }
                powersync_stop_signals_release(opened)
            }
        } catch {
            // Nobody would read the pipe: the signals keep their default action and end the program.
            continuation.finish()
        }
        return stream
    }
}
