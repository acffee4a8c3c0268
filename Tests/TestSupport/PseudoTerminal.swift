import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A terminal without a screen: a test types on one side, and reads what is written on the other.
package final class PseudoTerminal: Sendable {
    /// The side of the program, as a descriptor.
    package let slave: Int32
    /// The same as a path.
    package let path: String
    private let master: Int32
    private let bytes = Lock<[UInt8]>([])

    /// Makes a terminal.
    ///
    /// - Parameters:
    ///   - columns: How wide it is.
    ///   - rows: How high it is.
    /// - Throws: `SystemError` if the system has none.
    package init(columns: Int = 80, rows: Int = 24) throws {
        var size = Self.size(columns, rows)
        var ends: (master: Int32, slave: Int32) = (-1, -1)
        #if canImport(Glibc)
            let isOpen = openpty(&ends.master, &ends.slave, nil, nil, &size) == 0
        #else
            ends.master = posix_openpt(O_RDWR | O_NOCTTY)
            let isMade = ends.master >= 0 && grantpt(ends.master) == 0 && unlockpt(ends.master) == 0
            if isMade, let name = ptsname(ends.master) { ends.slave = open(name, O_RDWR | O_NOCTTY) }
            let isOpen = ends.slave >= 0 && ioctl(ends.slave, UInt(TIOCSWINSZ), &size) == 0
        #endif
        guard isOpen else { throw SystemError(.file, "cannot make a terminal", errno: errno) }
        // A program that another test starts must not keep it.
        for end in [ends.master, ends.slave] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var name = [CChar](repeating: 0, count: 256)
        guard ttyname_r(ends.slave, &name, name.count) == 0 else {
            throw SystemError(.file, "a terminal has no name", errno: errno)
        }
        path = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        (master, slave) = (ends.master, ends.slave)
        let (bytes, master) = (bytes, master)
        try DetachedThread.start {
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = read(master, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                // The last holder of the other side has closed it.
                if count <= 0 { break }
                bytes.withLock { $0 += buffer[..<count] }
            }
            close(master)
        }
    }

    deinit { close(slave) }

    /// Starts a program whose terminal this is, and whose session it leads.
    ///
    /// - Parameters:
    ///   - executable: A path.
    ///   - arguments: Its arguments.
    ///   - environment: All of its environment.
    /// - Returns: The running program; it gets SIGHUP when the terminal goes.
    /// - Throws: `SystemError`.
    package func start(
        _ executable: String, _ arguments: [String], environment: [String: String]
    ) throws(SystemError) -> ChildProcess {
        try ChildProcess.spawn(
            "/bin/sh", ["-c", Self.script, "powersync-terminal", path, executable] + arguments,
            environment: environment, ownSession: true)
    }

    /// The terminal that the leader of a session opens first becomes that of the session.
    private static let script = #"""
        terminal=$1
        shift
        exec <>"$terminal" >&0 2>&0
        exec "$@"
        """#

    /// Types a text.
    package func type(_ text: String) { type(Array(text.utf8)) }

    /// Types bytes, which need be no text.
    package func type(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(master, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// Gives the terminal another size, of which a program in the foreground hears.
    package func resize(columns: Int, rows: Int = 24) {
        var size = Self.size(columns, rows)
        _ = ioctl(master, UInt(TIOCSWINSZ), &size)
    }

    /// Whether what is typed comes as whole lines, and is shown by the system: the usual mode.
    package var isCooked: Bool {
        var modes = termios()
        return tcgetattr(slave, &modes) == 0 && modes.c_lflag & tcflag_t(ICANON) != 0
            && modes.c_lflag & tcflag_t(ECHO) != 0
    }

    /// All bytes so far.
    package var written: [UInt8] { bytes.withLock { $0 } }

    /// What was written behind so many bytes, without what moves the cursor, clears, or gives a colour.
    package func text(since start: Int = 0) -> String {
        let written = written
        var kept: [UInt8] = []
        var index = min(start, written.count)
        while index < written.count {
            let byte = written[index]
            index += 1
            switch byte {
            case 0x1B: Self.skipEscape(written, &index)
            // To the beginning of the line, to the left, the bell, and what old terminals need as a pause.
            case 0x0D, 0x08, 0x07, 0x00: continue
            default: kept.append(byte)
            }
        }
        return String(decoding: kept, as: UTF8.self)
    }

    /// Goes behind an escape sequence (ECMA-48), whose first byte has been taken.
    private static func skipEscape(_ bytes: [UInt8], _ index: inout Int) {
        guard index < bytes.count else { return }
        let kind = bytes[index]
        index += 1
        switch kind {
        case UInt8(ascii: "["):
            while index < bytes.count, !(0x40...0x7E).contains(bytes[index]) { index += 1 }
            index += 1
        case 0x20...0x2F: index += 1
        default: break
        }
    }

    private static func size(_ columns: Int, _ rows: Int) -> winsize {
        winsize(ws_row: UInt16(rows), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
    }
}
