import PowerSyncSystem
import Testing

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Two connected sockets, closed with the last reference.
final class SocketPair: Sendable {
    let left: Int32
    let right: Lock<Int32>

    init() throws {
        var ends: [Int32] = [0, 0]
        #if canImport(Glibc)
            let status = socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends)
        #else
            let status = socketpair(AF_UNIX, SOCK_STREAM, 0, &ends)
        #endif
        try #require(status == 0)
        left = ends[0]
        right = Lock(ends[1])
    }

    func send(_ text: String) {
        right.withLock { end in _ = write(end, text, text.utf8.count) }
    }

    func closeRight() {
        right.withLock { end in
            if end >= 0 { close(end) }
            end = -1
        }
    }

    deinit {
        close(left)
        closeRight()
    }
}
