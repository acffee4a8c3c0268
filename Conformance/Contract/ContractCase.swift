import PowerSyncWire

/// How much of the contract a backend promises (backend 9.1); each profile holds those before it.
package enum ContractProfile: String, Sendable, Hashable, CaseIterable, Comparable {
    /// Dialects A and C, and sign-in.
    case l0 = "L0"
    /// Dialect B besides.
    case l1 = "L1"
    /// The superset.
    case l2 = "L2"

    /// The dialect in which cases of this level send transactions.
    package var dialect: ContractDialect {
        switch self {
        case .l0: .batch
        case .l1: .transactions
        case .l2: .versioned
        }
    }

    /// Whether one promises less than another.
    package static func < (left: ContractProfile, right: ContractProfile) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// In which form transactions are sent (backend 1.1).
package enum ContractDialect: String, Sendable, Hashable {
    /// `batch`: each transaction is a request.
    case batch = "A"
    /// `transactions`.
    case transactions = "B"
    /// `transactions` with `v`, the client's id and numbers of operations.
    case versioned = "S"
}

/// How much it matters that a case passes; a report tells the three apart.
package enum ContractSeverity: String, Sendable, Hashable {
    /// The backend is wrong otherwise.
    case must
    /// The backend is worse otherwise.
    case should
    /// The backend may do otherwise.
    case may
}

/// One case of the contract as its entry in the catalogue says it (backend 9.2).
package struct ContractCase: Sendable {
    /// What carries it out.
    package enum Driver: Sendable, Hashable {
        /// The requests of the entry.
        case requests
        /// Code of `SwiftCases`.
        case swift
        /// A test that is there already, by its suite and its name.
        case test(String)
    }

    /// Its number.
    package let number: CaseNumber
    /// What it says, in one sentence.
    package let title: String
    /// The lowest profile that must pass it.
    package let level: ContractProfile
    /// How much it matters.
    package let severity: ContractSeverity
    /// Whether it is about security.
    package let isSecurity: Bool
    /// Logical tables and abilities without which it is not applicable.
    package let needs: [String]
    /// Whether nothing may run beside it.
    package let isAlone: Bool
    /// Settings that the backend must have, by the names of the environment.
    package let backend: [String: String]
    /// What carries it out.
    package let driver: Driver
    /// Transactions that must be applied before, by the first user.
    package let given: [[JSON]]
    /// What is sent, in this order.
    package let requests: [ContractRequest]
    /// What each of them must be answered; as many as there are requests.
    package let expectations: [ContractExpectation]
    /// What must be in the database afterwards.
    package let readings: [ContractReading]
    /// Why it need not pass yet.
    package let later: String?
}

/// What one step of a case sends.
package struct ContractRequest: Sendable {
    /// A body.
    package enum Content: Sendable, Hashable {
        /// None.
        case nothing
        /// Operations of transactions, in the dialect of the level.
        case transactions([[JSON]])
        /// JSON.
        case json(JSON)
        /// Texts, each as often as it says.
        case texts([RepeatedText])
        /// Bytes.
        case bytes([UInt8])
    }

    /// A text and how often it stands there.
    package struct RepeatedText: Sendable, Hashable {
        /// The text; `${n}` in it is how often it has stood there before.
        package let text: String
        /// How often.
        package let times: Int
    }

    /// Which user sends it; `nobody` has no token.
    package var user = "alice"
    /// The kind of broken token that it has in place of the user's.
    package var token: TokenMode?
    /// The session that it shows in place of the user's token.
    package var session: ContractSignIn.Mode?
    /// The method.
    package var method = "POST"
    /// The path; nil is that of uploads.
    package var path: String?
    /// Fields beside those that every request has.
    package var fields: [JSONMember] = []
    /// The body.
    package var content = Content.nothing
    /// The dialect, if it is not that of the level.
    package var dialect: ContractDialect?
    /// The name within the case of the client that sends it.
    package var client = "client"
    /// How often it is sent.
    package var times = 1
    /// Whether it is sent as often at once.
    package var isAtOnce = false
    /// A whole request, to be written to a socket as it stands; nothing else counts then.
    package var raw: String?
}

/// What a request must be answered.
package struct ContractExpectation: Sendable {
    /// The statuses, of which the answer has one.
    package var statuses: [Int] = [200]
    /// What became of each operation, in order; nil asks for nothing.
    package var outcomes: [String]?
    /// What became of each transaction, in order; nil asks for nothing.
    package var results: [String]?
    /// What the body must hold at least.
    package var body: JSON?
    /// How fields must begin; `*` is any value, null is no such field.
    package var fields: [JSONMember] = []
    /// Texts that stand nowhere in the answer.
    package var never: [String] = []
    /// How long the answer may take.
    package var within: Duration?
    /// Whether the answer may be that the connection ends.
    package var mayCut = false
}

/// What must be in the database when all is answered.
package enum ContractReading: Sendable {
    /// A row.
    case row(Row)
    /// How many dead letters of a user there are more than before.
    case letters(Int, user: String)

    /// What is expected of a row.
    package struct Row: Sendable {
        /// The logical table.
        package let table: String
        /// The id.
        package let id: String
        /// What it must be.
        package let state: State
        /// Columns that are as they were before the requests.
        package let untouched: [String]
    }

    /// How a row must be.
    package enum State: Sendable {
        /// There is none.
        case absent
        /// It is there, with these values in some of its columns.
        case present([JSONMember])
        /// It is as it was before the requests, or still not there.
        case unchanged
    }
}
