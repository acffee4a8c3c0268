import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncWire

/// The parameters of a connection, which every subscription of a request may ask for: found at once, however many there are.
package struct ConnectionParameters: Sendable {
    /// All of them; an empty object if there are none.
    package let all: JSON
    private let members: [ExactText: JSON]

    /// Takes the parameters of a request.
    package init(_ parameters: JSON?) {
        all = parameters ?? .object([])
        members = Dictionary(
            (all.objectMembers ?? []).map { (ExactText($0.name), $0.value) }, uniquingKeysWith: { $1 })
    }

    /// One of them; the last of its name, as in JavaScript.
    package subscript(_ name: String) -> JSON? { members[ExactText(name)] }
}

/// What a request says of itself: token, connection and subscription (service 2.4).
package struct RequestValues: Sendable {
    /// The payload of the verified token.
    package var token: JSON
    /// The connection's parameters.
    private let connection: ConnectionParameters
    /// The subscription's parameters; an empty object for the default subscription.
    package var subscription: JSON

    /// Makes values of their parts; nil counts as an empty object.
    package init(token: JSON, connection: JSON? = nil, subscription: JSON? = nil) {
        self.init(token: token, connection: ConnectionParameters(connection), subscription: subscription)
    }

    /// Makes values of their parts; nil counts as an empty object.
    package init(token: JSON, connection: ConnectionParameters, subscription: JSON?) {
        self.token = token
        self.connection = connection
        self.subscription = subscription ?? .object([])
    }

    /// The value of a parameter, NULL if it is missing.
    package subscript(_ parameter: RequestParameter) -> SQLiteValue {
        var value: JSON
        var path = parameter.path[...]
        switch parameter.source {
        case .auth: value = token
        case .subscription: value = subscription
        case .connection:
            guard let name = path.popFirst() else {
                value = connection.all
                break
            }
            guard let member = connection[name.text] else { return .null }
            value = member
        }
        for key in path {
            guard let member = value[key.text] else { return .null }
            value = member
        }
        return Self.sqlite(value, isClaim: parameter.source == .auth)
    }

    /// The text form of the token's `sub`: what write checkpoints are kept by.
    package var userID: String {
        switch self[.userID] {
        case .null: "null"
        case .integer(let integer): String(integer)
        case .real(let real): NumberText.normalized(real)
        case .text(let text): text
        case .blob: ""
        }
    }

    /// A JSON value as SQLite sees it; numbers of tokens were parsed as doubles by the real service.
    private static func sqlite(_ value: JSON, isClaim: Bool) -> SQLiteValue {
        switch value {
        case .null: .null
        case .bool(let bool): .integer(bool ? 1 : 0)
        case .string(let text): .text(text)
        case .number(let lexeme):
            if !isClaim, let integer = Int64(lexeme) {
                .integer(integer)
            } else {
                .real(Double(lexeme) ?? 0)
            }
        case .array, .object: .text(isClaim ? withReals(value).text : value.text)
        }
    }

    private static func withReals(_ value: JSON) -> JSON {
        switch value {
        case .number(let lexeme): .number(Double(lexeme).map(NumberText.real) ?? lexeme)
        case .array(let elements): .array(elements.map(withReals))
        case .object(let members): .object(members.map { JSONMember($0.name, withReals($0.value)) })
        default: value
        }
    }
}
