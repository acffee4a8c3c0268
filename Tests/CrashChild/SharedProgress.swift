#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// What a program tells of itself in a file that is mapped into memory, so that its end loses nothing of it.
package struct SharedProgress: @unchecked Sendable {
    // Safe because each word is written by one process and lies on its own in memory that both have mapped; a
    // reader may see an old value, never half of one.
    private let words: UnsafeMutablePointer<Int64>

    /// Maps the file, which is made if it is missing; nil if it cannot be mapped.
    package init?(path: String) {
        let descriptor = open(path, O_RDWR | O_CREAT, 0o600)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        guard ftruncate(descriptor, 4096) == 0,
            let memory = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0),
            memory != MAP_FAILED
        else { return nil }
        words = memory.bindMemory(to: Int64.self, capacity: 512)
    }

    /// The number of the last local transaction whose COMMIT returned.
    package var committed: Int64 {
        get { words[0] }
        nonmutating set { words[0] = newValue }
    }

    /// Whether a transaction that writes is open right now.
    package var isWriting: Bool {
        get { words[8] != 0 }
        nonmutating set { words[8] = newValue ? 1 : 0 }
    }

    /// How many SQL statements of the connection that writes have ended.
    package var statements: Int64 {
        get { words[16] }
        nonmutating set { words[16] = newValue }
    }

    /// Since when the program has been syncing, by ``now``; 0 while it does not.
    package var syncsSince: Int64 {
        get { words[24] }
        nonmutating set { words[24] = newValue }
    }

    /// Whether the program leaves syncing to another one.
    package var isElsewhere: Bool {
        get { words[32] != 0 }
        nonmutating set { words[32] = newValue ? 1 : 0 }
    }

    /// The nanoseconds of a clock that all processes of the machine share, and that nobody can set.
    package static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// Unmaps the file; the value is of no use afterwards.
    package func unmap() { munmap(words, 4096) }
}
