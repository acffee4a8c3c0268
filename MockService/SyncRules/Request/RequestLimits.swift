/// How much a request may ask for (service 3.11).
package struct RequestLimits: Sendable, Hashable {
    /// Buckets with different names.
    package var buckets: Int
    /// Rows of all lookups, and elements; also the keys of one read.
    package var results: Int
    /// Bytes of all names and keys, those that were made in several ways counted as often, and of failures.
    package var nameBytes: Int
    /// Bytes, elements and expressions that may be looked at: a large body may be looked at about fifty times in all.
    package var work: Int

    /// Keys of lookups that a request may read and be told of, and queriers that may be run for its subscriptions: whatever
    /// these find, each takes memory as long as the stream.
    package var keys: Int { 10 * results }

    /// Combinations of rows and elements that one querier may look at.
    package var tuples: Int { 100 * results }

    /// Makes limits; without one of bytes it is that of the service.
    package init(
        buckets: Int = 1000, results: Int = 1000, nameBytes: Int? = nil, work: Int = 50_000_000
    ) {
        self.buckets = buckets
        self.results = results
        self.nameBytes = nameBytes ?? max(1 << 20, buckets << 10)
        self.work = work
    }
}

extension RequestLimits {
    /// What is said of more rows and elements.
    var tooManyResults: String { "Too many parameter query results (limit of \(results))" }

    /// What is said of more bytes.
    var tooManyBytes: String { "Too many buckets: names of more than \(nameBytes) bytes" }

    /// What is said of more buckets.
    func tooManyBuckets(_ count: Int) -> String { "Too many buckets: \(count) (limit of \(buckets))" }

    /// What is said of more keys of all reads, or of more queriers for subscriptions.
    var tooManyReads: String { "Too many parameter queries (limit of \(keys))" }

    /// What is said of more that is looked at.
    var tooMuchWork: String { "Too much work for parameter queries (limit of \(work) bytes)" }

    /// What is said of more keys of one read.
    func tooManyKeys(_ count: Int) -> String {
        "Attempted to fetch \(count) lookups at once, a maximum of \(results) lookups are allowed."
    }
}

/// A request over a limit; nothing of it is answered.
package struct RequestError: Error, Sendable, Hashable {
    /// The first line, with the limit.
    package let message: String
    /// The lines behind it, for the log: how many each stream has.
    package let details: [String]

    /// Makes an error of its fields.
    package init(message: String, details: [String] = []) {
        self.message = message
        self.details = details
    }
}
