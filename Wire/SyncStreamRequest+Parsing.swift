/// A request body that is JSON but not of the shape the service wants.
package struct RequestViolations: Error, Sendable, Equatable {
    /// One message for each violated rule, spelled as the service spells it (service 1.3).
    package let messages: [String]

    /// Makes an error of its messages.
    package init(messages: [String]) { self.messages = messages }
}

extension SyncStreamRequest {
    /// Reads the body of a request as the service does (service 1.3, 1.4).
    ///
    /// Unknown members are ignored; `null` and an array count as an empty request, as recorded.
    ///
    /// - Parameter body: the parsed body.
    /// - Throws: `RequestViolations` with the service's messages.
    package init(json body: JSON) throws(RequestViolations) {
        var reader = RequestReader()
        var request = SyncStreamRequest(rawData: false, binaryData: false)
        request.includeChecksum = reader.bool(body["include_checksum"], "/include_checksum") ?? false
        request.rawData = reader.bool(body["raw_data"], "/raw_data") ?? false
        request.binaryData = reader.bool(body["binary_data"], "/binary_data") ?? false
        request.clientID = reader.string(body["client_id"], "/client_id")
        request.parameters = reader.object(body["parameters"], "/parameters")
        request.buckets = reader.array(body["buckets"], "/buckets") { reader, element, path in
            reader.bucket(element, path)
        }
        if let streams = reader.object(body["streams"], "/streams") {
            request.streams = reader.streams(streams, "/streams")
        }
        request.appMetadata = reader.object(body["app_metadata"], "/app_metadata")?.objectMembers
        guard reader.messages.isEmpty else { throw RequestViolations(messages: reader.messages) }
        self = request
    }
}

/// Collects messages while it takes a request apart.
private struct RequestReader {
    var messages: [String] = []

    mutating func wrong(_ path: String, _ type: String) { messages.append("\(path): type must be \(type)") }

    mutating func bool(_ value: JSON?, _ path: String) -> Bool? {
        guard let value else { return nil }
        if value.boolValue == nil { wrong(path, "boolean") }
        return value.boolValue
    }

    mutating func string(_ value: JSON?, _ path: String) -> String? {
        guard let value else { return nil }
        if value.stringValue == nil { wrong(path, "string") }
        return value.stringValue
    }

    mutating func object(_ value: JSON?, _ path: String) -> JSON? {
        guard let value else { return nil }
        guard value.objectMembers != nil else {
            wrong(path, "object")
            return nil
        }
        return value
    }

    mutating func array<Element>(
        _ value: JSON?, _ path: String, _ element: (inout RequestReader, JSON, String) -> Element?
    ) -> [Element] {
        guard let value else { return [] }
        guard let elements = value.arrayValue else {
            wrong(path, "array")
            return []
        }
        return elements.enumerated().compactMap { element(&self, $1, "\(path)/\($0)") }
    }

    /// Tells whether all names are there; only the first missing one is reported, and nothing else of the object.
    mutating func has(_ names: [String], in value: JSON, _ path: String) -> Bool {
        guard let members = value.objectMembers else {
            wrong(path, "object")
            return false
        }
        guard let missing = names.last(where: { name in !members.contains { $0.name == name } }) else {
            return true
        }
        messages.append("\(path) must have required property '\(missing)'")
        return false
    }

    mutating func bucket(_ value: JSON, _ path: String) -> BucketRequest? {
        guard has(["name", "after"], in: value, path) else { return nil }
        let name = string(value["name"], "\(path)/name")
        guard let after = string(value["after"], "\(path)/after"), let name else { return nil }
        guard let position = OperationID(after) else {
            messages.append("\(path)/after: must be a decimal number")
            return nil
        }
        return BucketRequest(name: name, after: position)
    }

    mutating func streams(_ value: JSON, _ path: String) -> StreamSubscriptions? {
        guard has(["subscriptions"], in: value, path) else { return nil }
        let includeDefaults = bool(value["include_defaults"], "\(path)/include_defaults") ?? true
        let subscriptions = array(value["subscriptions"], "\(path)/subscriptions") { reader, element, path in
            reader.subscription(element, path)
        }
        return StreamSubscriptions(includeDefaults: includeDefaults, subscriptions: subscriptions)
    }

    mutating func subscription(_ value: JSON, _ path: String) -> StreamSubscription? {
        guard has(["stream", "parameters", "override_priority"], in: value, path) else { return nil }
        var subscription = StreamSubscription(stream: string(value["stream"], "\(path)/stream") ?? "")
        if let parameters = value["parameters"], !parameters.isNull {
            subscription.parameters = object(parameters, "\(path)/parameters")
        }
        if let priority = value["override_priority"], !priority.isNull {
            guard let number = priority.int64Value else {
                wrong("\(path)/override_priority", "number")
                return nil
            }
            subscription.overridePriority = Int(number)
        }
        return subscription
    }
}
