/// Where the lines of one stream go to: a response of HTTP, or what a test does with them.
package protocol LineSink: Sendable {
    /// Sends lines in order, as one piece if the transport can; one call at a time.
    ///
    /// - Parameter lines: The lines, each of which nobody else sends.
    /// - Throws: When the client is gone or does not read, `CancellationError`, and `LinesWereCut`.
    func send(_ lines: [EncodedLine]) async throws

    /// Ends what is being sent, which then throws `LinesWereCut`, as does all that is sent behind it.
    ///
    /// The client sees that the line is not whole.
    func cut()
}

/// What a sink throws that was cut.
package struct LinesWereCut: Error, Equatable {
    /// Makes the error.
    package init() {}
}
