/// Steps in which this client differs from the recorded core on purpose, each with its reason.
enum TranscriptExceptions {
    private static let resent = """
        The service sends an operation again that the client has. The recorded core counts it twice, fails the \
        checksum and drops the bucket; this client skips it, applies the checkpoint and keeps the bucket.
        """

    /// File, then number of the step, then reason.
    static let reasons: [String: [Int: String]] = [
        "curated/clear_soft_and_hard.json": [37: resent, 38: resent, 39: resent, 41: resent, 42: resent]
    ]
}
