/// How the backend meets its database, and who watches it (Backend/Database/SPEC.md and Backend/Start/SPEC.md).
package struct LinkSettings: Sendable, Hashable {
    /// Whether connections keep statements prepared, which poolers in transaction mode do not.
    package var preparesStatements = true
    /// Whether a connection to another machine may be without a proof of whose it is.
    package var allowsInsecureTLS = false
    /// The port of `/metrics`; nil has none.
    package var metricsPort: Int?
    /// The address of that port.
    package var metricsHost = "127.0.0.1"

    /// Makes the links of production.
    package init() {}

    /// Reads them.
    ///
    /// - Parameters:
    ///   - reader: the environment.
    ///   - port: the port of the backend itself.
    ///   - problems: gets what is wrong.
    init(_ reader: EnvironmentReader, port: Int, _ problems: inout SettingProblems) {
        self.init(ofDatabase: reader, &problems)
        metricsPort = problems.read { try reader.number("METRICS_PORT", 1...65_535) }
        metricsHost = problems.read { try reader.text("METRICS_HOST") } ?? metricsHost
        if metricsPort == port {
            problems.add("METRICS_PORT", "is PORT itself: what it tells is not for everybody")
        }
    }

    /// Reads those to the database alone, for commands that need no more.
    init(ofDatabase reader: EnvironmentReader, _ problems: inout SettingProblems) {
        preparesStatements = problems.read { try reader.choice("PREPARED", ["on", "off"]) } != "off"
        allowsInsecureTLS = problems.read { try reader.flag("DATABASE_TLS_INSECURE") } ?? false
    }
}
