/// Has a backend read again, at each SIGHUP, what may change while it runs (backend 8.1; Backend/Start/SPEC.md).
package struct ReloadLoop: Sendable {
    /// Gets what stays as it was, and what is wrong with its settings.
    package typealias Complaint = @Sendable (_ what: String, _ problem: String) -> Void

    private let backend: Backend
    private let signals: AsyncStream<Int32>
    private let environment: [String: String]
    private let readFile: @Sendable (String) throws -> String
    private let complain: Complaint

    /// Makes a loop.
    ///
    /// - Parameters:
    ///   - backend: reads again.
    ///   - signals: each asks for it.
    ///   - environment: names the files, as at the start.
    ///   - readFile: reads one of them.
    ///   - complain: gets what is wrong with the settings of keys and of the secret, which then stay.
    package init(
        _ backend: Backend, _ signals: AsyncStream<Int32>, environment: [String: String],
        readFile: @escaping @Sendable (String) throws -> String, complain: @escaping Complaint
    ) {
        self.backend = backend
        self.signals = signals
        self.environment = environment
        self.readFile = readFile
        self.complain = complain
    }

    /// Runs until its task is cancelled, one reading behind the other.
    package func run() async {
        for await _ in signals { await backend.reload(given: keys(), session: session()) }
    }

    /// The keys that stand in files now; nil where there are none, or what there is cannot be read.
    private func keys() -> GivenKeys? {
        // What stands in the environment itself cannot change.
        let names = GivenKeys.privateNames + GivenKeys.publicNames
        guard names.contains(where: { environment[$0 + "_FILE"]?.isEmpty == false }) else { return nil }
        do throws(BackendError) {
            return try GivenKeys(EnvironmentReader(variables: environment, readFile: readFile))
        } catch {
            complain("the keys are not taken: the former ones stay", error.message)
            return nil
        }
    }

    /// The secret of session tokens that stands in a file now; nil where there is none, or it is none.
    private func session() -> AuthenticationSettings.Session? {
        guard environment["SESSION_SECRET_FILE"]?.isEmpty == false else { return nil }
        var problems = SettingProblems()
        let reader = EnvironmentReader(variables: environment, readFile: readFile)
        // What else stands in the environment has been checked at the start.
        let session = AuthenticationSettings.session(reader, [], &problems)
        for problem in problems.all {
            complain("the secret of session tokens is not taken: the former one stays", problem.message)
        }
        return problems.all.isEmpty ? session : nil
    }
}
