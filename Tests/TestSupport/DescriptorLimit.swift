import Testing

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// How many descriptors this process may have; to be lowered in a process of the test's own alone.
package enum DescriptorLimit {
    #if canImport(Glibc)
        private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
        private static let resource = RLIMIT_NOFILE
    #endif

    /// The first number that no descriptor can have; 0 where the system does not tell.
    package static var soft: Int {
        var limit = rlimit()
        return getrlimit(resource, &limit) == 0 ? Int(clamping: limit.rlim_cur) : 0
    }

    /// The limit up to which this process may raise its own; 0 where the system does not tell.
    package static var hard: Int {
        var limit = rlimit()
        return getrlimit(resource, &limit) == 0 ? Int(clamping: limit.rlim_max) : 0
    }

    /// Sets the limit, and the one up to which it may be raised.
    ///
    /// - Parameters:
    ///   - soft: the first number that no descriptor can have.
    ///   - hard: the most that `soft` can be from now on; nil leaves it.
    /// - Throws: where the system refuses.
    package static func set(_ soft: Int, hard: Int? = nil) throws {
        var limit = rlimit()
        try #require(getrlimit(resource, &limit) == 0)
        limit.rlim_cur = rlim_t(soft)
        if let hard { limit.rlim_max = rlim_t(hard) }
        try #require(setrlimit(resource, &limit) == 0)
    }
}
