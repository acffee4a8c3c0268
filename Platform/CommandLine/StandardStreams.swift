import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The three standard streams of this program.
package enum StandardStreams {
    /// Lets those lead nowhere that are closed; to be called before anything is opened.
    ///
    /// What is opened gets the lowest number that is free. With `<&-` that is the number of standard input, and whatever
    /// it is would be read as if it were that.
    package static func replaceClosed() {
        for descriptor in Int32(0)...2 where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest number that is free is this one. A stream that cannot be replaced stays closed.
            _ = open("/dev/null", O_RDWR)
        }
    }
}

/// Standard output without a buffer: whoever waits for a line gets it at once.
package enum StandardOutput {
    /// Writes a text and the end of a line.
    package static func print(_ text: String) { Descriptor.write(text + "\n", to: 1) }

    /// Writes a text and the end of a line, for whoever must know if that fails.
    ///
    /// - Parameter text: the text.
    /// - Throws: `SystemError` if there is no room for it, or nobody reads any more; a part of it may be written then.
    package static func put(_ text: String) throws(SystemError) {
        guard let errno = Descriptor.write(text + "\n", to: 1) else { return }
        throw SystemError(.file, "cannot write to standard output", errno: errno)
    }

    /// Writes a text as it is, for a line that is written over by the next.
    package static func write(_ text: String) { Descriptor.write(text, to: 1) }
}

/// Standard error, a line at a time.
package enum StandardError {
    /// Writes a text and the end of a line.
    package static func print(_ text: String) { Descriptor.write(text + "\n", to: 2) }
}

enum Descriptor {
    /// Writes all of a text; one call of the system for a line of usual length, so that lines do not mix.
    ///
    /// Waits for room where somebody made the descriptor non-blocking.
    ///
    /// - Returns: why something was not written, an error number of the system; nil if everything was.
    @discardableResult
    static func write(_ text: String, to descriptor: Int32) -> Int32? {
        var text = text
        return text.withUTF8 { bytes -> Int32? in
            var rest = UnsafeRawBufferPointer(bytes)
            while let start = rest.baseAddress, !rest.isEmpty {
                let count = systemWrite(descriptor, start, rest.count)
                if count < 0, errno == EINTR { continue }
                if count < 0, errno == EAGAIN {
                    waitForRoom(descriptor)
                    continue
                }
                guard count > 0 else { return count < 0 ? errno : EIO }
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            }
            return nil
        }
    }

    private static func waitForRoom(_ descriptor: Int32) {
        var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        // Whatever it says, the next write finds out: there is room, the reader has left, or a signal came.
        _ = poll(&request, 1, -1)
    }

    private static func systemWrite(_ descriptor: Int32, _ start: UnsafeRawPointer, _ count: Int) -> Int {
        #if canImport(Glibc)
            Glibc.write(descriptor, start, count)
        #elseif canImport(Musl)
            Musl.write(descriptor, start, count)
        #else
            Darwin.write(descriptor, start, count)
        #endif
    }
}
