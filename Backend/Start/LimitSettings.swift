/// How much of what costs or guesses is answered, by each process (Backend/Start/SPEC.md).
package struct LimitSettings: Sendable, Hashable {
    /// How many tokens a user is given a minute; 0 sets no limit.
    package var tokensPerMinute = 600
    /// How many credentials that are no good a client may show a minute; 0 sets no limit.
    package var failedCredentialsPerMinute = 20

    /// Makes the limits of production.
    package init() {}

    /// Reads them.
    ///
    /// - Parameters:
    ///   - reader: the environment.
    ///   - problems: gets what is wrong.
    init(_ reader: EnvironmentReader, _ problems: inout SettingProblems) {
        let range = 0...1_000_000
        tokensPerMinute = problems.read { try reader.number("TOKENS_PER_MINUTE", range) } ?? tokensPerMinute
        failedCredentialsPerMinute =
            problems.read { try reader.number("FAILED_CREDENTIALS_PER_MINUTE", range) }
            ?? failedCredentialsPerMinute
    }
}
