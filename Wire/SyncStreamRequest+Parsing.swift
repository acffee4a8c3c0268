/// A request body that is JSON but not of the shape the service wants.
package struct RequestViolations: Error, Sendable, Equatable {
    /// What is wrong, spelled as the service spells it (service 1.3); of a sync request the first violation alone.
    package let messages: [String]

    /// Makes an error of its messages.
    package init(messages: [String]) { self.messages = messages }
}

extension SyncStreamRequest {
    /// Reads the body of a request as the service does (service 1.3, 1.4).
    ///
    /// Unknown members are ignored; `null` and an array count as an empty request, as recorded. Nothing is read
    /// behind the first violation: every recorded answer names one, also of bodies that have several, and a message
    /// for each would make the answer to a small body a very large one.
    ///
    /// - Parameter body: the parsed body.
    /// - Throws: `RequestViolations` with the service's message.
    package init(json body: JSON) throws(RequestViolations) {
        self.init(rawData: false, binaryData: false)
        includeChecksum = try RequestReader.bool(body["include_checksum"], "/include_checksum") ?? false
        rawData = try RequestReader.bool(body["raw_data"], "/raw_data") ?? false
        binaryData = try RequestReader.bool(body["binary_data"], "/binary_data") ?? false
        clientID = try RequestReader.string(body["client_id"], "/client_id")
        parameters = try RequestReader.object(body["parameters"], "/parameters")
        buckets = try RequestReader.array(body["buckets"], "/buckets", RequestReader.bucket)
        if let streams = try RequestReader.object(body["streams"], "/streams") {
            self.streams = try RequestReader.streams(streams, "/streams")
        }
        appMetadata = try RequestReader.object(body["app_metadata"], "/app_metadata")?.objectMembers
    }
}

/// Takes a request apart, up to the first violation.
private enum RequestReader {
    static func wrong(_ path: String, _ type: String) -> RequestViolations {
        RequestViolations(messages: ["\(path): type must be \(type)"])
    }

    static func bool(_ value: JSON?, _ path: String) throws(RequestViolations) -> Bool? {
        guard let value else { return nil }
        guard let bool = value.boolValue else { throw wrong(path, "boolean") }
        return bool
    }

    static func string(_ value: JSON?, _ path: String) throws(RequestViolations) -> String? {
        guard let value else { return nil }
        guard let string = value.stringValue else { throw wrong(path, "string") }
        return string
    }

    static func object(_ value: JSON?, _ path: String) throws(RequestViolations) -> JSON? {
        guard let value else { return nil }
        guard value.objectMembers != nil else { throw wrong(path, "object") }
        return value
    }

    static func array<Element>(
        _ value: JSON?, _ path: String, _ element: (JSON, String) throws(RequestViolations) -> Element
    ) throws(RequestViolations) -> [Element] {
        guard let value else { return [] }
        guard let elements = value.arrayValue else { throw wrong(path, "array") }
        var read: [Element] = []
        for (index, value) in elements.enumerated() { read.append(try element(value, "\(path)/\(index)")) }
        return read
    }

    /// Requires that all names are there; the last missing one is reported, before anything else of the object.
    static func require(_ names: [String], in value: JSON, _ path: String) throws(RequestViolations) {
        guard let members = value.objectMembers else { throw wrong(path, "object") }
        if let missing = names.last(where: { name in !members.contains { $0.name == name } }) {
            throw RequestViolations(messages: ["\(path) must have required property '\(missing)'"])
        }
    }

    static func bucket(_ value: JSON, _ path: String) throws(RequestViolations) -> BucketRequest {
        try require(["name", "after"], in: value, path)
        let name = try string(value["name"], "\(path)/name") ?? ""
        guard let after = position(try string(value["after"], "\(path)/after") ?? "") else {
            throw RequestViolations(messages: ["\(path)/after: must be a decimal number"])
        }
        return BucketRequest(name: name, after: after)
    }

    /// A number beyond 63 bits is one that no operation has, as the largest of them is (service 3.8).
    private static func position(_ text: String) -> OperationID? {
        if let position = OperationID(text) { return position }
        let digits = text.utf8.drop { $0 == UInt8(ascii: "-") }
        guard text.utf8.count - digits.count <= 1, !digits.isEmpty,
            digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return digits.count == text.utf8.count ? .max : .min
    }

    static func streams(_ value: JSON, _ path: String) throws(RequestViolations) -> StreamSubscriptions {
        try require(["subscriptions"], in: value, path)
        return StreamSubscriptions(
            includeDefaults: try bool(value["include_defaults"], "\(path)/include_defaults") ?? true,
            subscriptions: try array(value["subscriptions"], "\(path)/subscriptions", subscription))
    }

    static func subscription(_ value: JSON, _ path: String) throws(RequestViolations) -> StreamSubscription {
        try require(["stream", "parameters", "override_priority"], in: value, path)
        var subscription = StreamSubscription(stream: try string(value["stream"], "\(path)/stream") ?? "")
        if let parameters = value["parameters"], !parameters.isNull {
            subscription.parameters = try object(parameters, "\(path)/parameters")
        }
        if let priority = value["override_priority"], !priority.isNull {
            guard let number = priority.int64Value else { throw wrong("\(path)/override_priority", "number") }
            guard (0...3).contains(number) else {
                throw RequestViolations(messages: ["\(path)/override_priority: must be a number from 0 to 3"])
            }
            subscription.overridePriority = Int(number)
        }
        return subscription
    }
}
