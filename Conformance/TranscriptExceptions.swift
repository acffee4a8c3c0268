/// Steps in which this client differs from the recorded core on purpose, each with its reason.
package enum TranscriptExceptions {
    private static let resent = """
        The service sends an operation again that the client has. The recorded core counts it twice, fails the \
        checksum and drops the bucket; this client skips it, applies the checkpoint and keeps the bucket.
        """

    private static let known: [String: [Int: String]] = [
        "clear_soft_and_hard": [37: resent, 38: resent, 39: resent, 41: resent, 42: resent]
    ]

    /// Returns the steps of a transcript that may differ, with the reason.
    ///
    /// - Parameter name: the name that the transcript has in itself; its file and folder do not matter.
    /// - Returns: reasons by the number of the step, none for a transcript that is not known.
    package static func reasons(for name: String) -> [Int: String] { known[name] ?? [:] }
}
