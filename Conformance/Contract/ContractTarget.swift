/// Who sends the requests of a case, and where the tokens come from.
package struct TokenSource: Sendable {
    /// The subject of the tokens.
    package let subject: String
    /// Gets a token that is good now.
    package let token: @Sendable () async throws -> String

    /// Makes a source.
    ///
    /// - Parameters:
    ///   - subject: The subject of its tokens.
    ///   - token: Gets a token that is good now.
    package init(subject: String, token: @escaping @Sendable () async throws -> String) {
        self.subject = subject
        self.token = token
    }
}

/// A backend that the contract is asked of (backend 9.1).
package struct ContractTarget: Sendable {
    /// What its URLs begin with, such as `http://127.0.0.1:6060`.
    package let url: String
    /// Who there is: `alice` and `bob`, and `disabled` where a user can be.
    package let users: [String: TokenSource]
    /// What it calls the tables.
    package let fixtures: ContractFixtures
    /// Where the database is looked at; nil where it cannot be.
    package let oracle: (any ContractOracle)?
    /// What it promises.
    package let profile: ContractProfile
    /// The key of its tokens; nil where nobody gives it away.
    package let keys: ContractKeys?
    /// The secret of sessions, which the token route takes; nil where nobody gives it away.
    package let signIn: ContractSignIn?
    /// What breaks its database; nil where nothing may.
    package let faults: (any ContractFaults)?
    /// The factor by which all may take longer than the contract allows: for slow machines.
    package let patience: Double

    /// Describes a backend.
    ///
    /// - Parameters:
    ///   - url: What its URLs begin with.
    ///   - users: Who there is.
    ///   - fixtures: What it calls the tables.
    ///   - oracle: Where the database is looked at.
    ///   - profile: What it promises.
    ///   - keys: The key of its tokens.
    ///   - signIn: The secret of sessions.
    ///   - faults: What breaks its database.
    ///   - patience: The factor by which all may take longer.
    package init(
        url: String, users: [String: TokenSource], fixtures: ContractFixtures,
        oracle: (any ContractOracle)?, profile: ContractProfile, keys: ContractKeys? = nil,
        signIn: ContractSignIn? = nil, faults: (any ContractFaults)? = nil, patience: Double = 1
    ) {
        self.url = url
        self.users = users
        self.fixtures = fixtures
        self.oracle = oracle
        self.profile = profile
        self.keys = keys
        self.signIn = signIn
        self.faults = faults
        self.patience = patience
    }
}

/// What can be done to a backend and its database while cases run (backend 9.1); they belong to one case alone then.
package protocol ContractFaults: Sendable {
    /// Ends the backend as an operator does, starts it again, and returns what its URLs begin with now.
    func restartBackend() async throws -> String
}
