import PowerSyncWire

/// What a request says of itself: token, parameters of the connection and of one subscription (service 2.4).
///
/// A parameter is found at once however many there are: each subscription of a request may ask for it.
package struct RequestSlots: Sendable {
    /// One of the objects.
    private struct Source: Sendable {
        let json: JSON
        let members: [ExactText: JSON]

        /// Takes an object; nil and `null` count as an empty one.
        init(_ given: JSON?) {
            let object = given.flatMap { $0.isNull ? nil : JSONReader.ordered($0) } ?? .object([])
            json = object
            members = Dictionary(
                (object.objectMembers ?? []).map { (ExactText($0.name), $0.value) }, uniquingKeysWith: { $1 })
        }

        /// Takes some members of another one.
        init(_ names: Set<ExactText>, of source: Source) {
            json = .object([])
            members = Dictionary(
                names.compactMap { name in source.members[name].map { (name, $0) } }, uniquingKeysWith: { $1 }
            )
        }
    }

    /// What expressions name of a request.
    struct Names: Sendable {
        fileprivate private(set) var wholes: Set<RequestParameter.Source> = []
        fileprivate private(set) var members: [RequestParameter.Source: Set<ExactText>] = [:]

        /// Adds what an expression names.
        mutating func add(_ expression: Expression) {
            switch expression {
            case .request(let source): wholes.insert(source)
            case .parameter(let parameter):
                if let first = parameter.path.first {
                    members[parameter.source, default: []].insert(first)
                } else {
                    wholes.insert(parameter.source)
                }
            default: break
            }
            for child in expression.children { add(child) }
        }
    }

    private var auth: Source
    private var connection: Source
    private var tokenParameters: Source
    private var subscription: Source

    /// Takes what all subscriptions of a request share.
    ///
    /// - Parameters:
    ///   - token: The payload of the token.
    ///   - connection: The parameters of the connection.
    package init(token: JSON, connection: JSON?) {
        auth = Source(token)
        self.connection = Source(connection)
        tokenParameters = Source(token["parameters"])
        subscription = Source(nil)
    }

    /// The same with the parameters of a subscription.
    package func with(subscription: JSON?) -> RequestSlots {
        var slots = self
        slots.subscription = Source(subscription)
        return slots
    }

    /// What some expressions need of it, and nothing else: a small body makes a tree of many megabytes.
    func with(_ names: Names) -> RequestSlots {
        func kept(_ name: RequestParameter.Source) -> Source {
            names.wholes.contains(name) ? source(name) : Source(names.members[name] ?? [], of: source(name))
        }
        var slots = self
        slots.auth = kept(.auth)
        slots.connection = kept(.connection)
        slots.tokenParameters = kept(.tokenParameters)
        slots.subscription = kept(.subscription)
        return slots
    }

    /// A value of the request; NULL if it brings none.
    package func value(of parameter: RequestParameter) -> ScalarValue {
        guard let first = parameter.path.first else { return text(of: parameter.source) }
        guard var value = source(parameter.source).members[first] else { return .null }
        for key in parameter.path.dropFirst() {
            guard let member = Self.member(key, of: value) else { return .null }
            value = member
        }
        return ScalarValue(parameter.source == .auth ? Self.claim(value) : value)
    }

    /// How many members of objects are looked at to find a value.
    func memberCount(on parameter: RequestParameter) -> Int {
        guard parameter.path.count > 1, let first = parameter.path.first,
            var value = source(parameter.source).members[first]
        else { return 0 }
        var count = 0
        for key in parameter.path.dropFirst() {
            count += value.objectMembers?.count ?? 0
            guard let member = Self.member(key, of: value) else { break }
            value = member
        }
        return count
    }

    /// All of a source as JSON text; numbers of a token as `number` has them.
    package func text(of source: RequestParameter.Source) -> ScalarValue {
        ScalarValue(text: document(source).text)
    }

    /// All of a source; numbers of a token as `number` has them.
    func document(_ source: RequestParameter.Source) -> JSON {
        let json = self.source(source).json
        return source == .auth ? Self.claim(json) : json
    }

    private func source(_ source: RequestParameter.Source) -> Source {
        switch source {
        case .auth: auth
        case .connection: connection
        case .subscription: subscription
        case .tokenParameters: tokenParameters
        }
    }

    /// A member; digits lead to elements of arrays and to the UTF-16 units of texts, as in JavaScript.
    private static func member(_ key: ExactText, of json: JSON) -> JSON? {
        switch json {
        case .object: return json[key.text]
        case .array(let elements):
            guard let index = JSONReader.arrayIndex(key.text), index < elements.count else { return nil }
            return elements[Int(index)]
        case .string(let text):
            guard let index = JSONReader.arrayIndex(key.text),
                let unit = text.utf16.dropFirst(Int(index)).first
            else { return nil }
            return .string(String(decoding: [unit], as: UTF16.self))
        case .null, .bool, .number: return nil
        }
    }

    private static func claim(_ value: JSON) -> JSON {
        switch value {
        case .number(let lexeme): .number(number(lexeme))
        case .array(let elements): .array(elements.map(claim))
        case .object(let members): .object(members.map { JSONMember($0.name, claim($0.value)) })
        case .null, .bool, .string: value
        }
    }

    /// A number of a token: a double, which the real service reads it as.
    ///
    /// An integer that no double equals stays as it is: another one may be another account's (service 2.4).
    private static func number(_ lexeme: String) -> String {
        guard let real = Double(lexeme) else { return lexeme }
        if let integer = ScalarValue(digits: lexeme), ScalarValue.real(real).keyValue != integer {
            return lexeme
        }
        return NumberText.real(real)
    }
}
