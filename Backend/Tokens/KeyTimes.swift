import PowerSyncWire

/// What a key is for, and since when: members beside those of the key itself, in seconds since 1970 (Backend/Tokens/SPEC.md).
package struct KeyTimes: Sendable, Hashable {
    /// What a key is for.
    package enum State: String, Sendable {
        /// It is published, and signs later.
        case next
        /// It signs, unless a newer one does.
        case current
        /// It has signed; what it has signed counts for as long as tokens live.
        case retired
    }

    /// What it is for; nil where nobody has said.
    package var state: State?
    /// Since when others can have it.
    package var published: Int64?
    /// Since when it signs.
    package var current: Int64?
    /// Since when it signs no more.
    package var retired: Int64?
    /// Since when it counts for nothing.
    package var revoked: Int64?

    /// Makes times of a key of which nothing is said.
    package init(state: State? = nil) { self.state = state }

    /// Reads them from an object, which may have other members.
    ///
    /// - Parameters:
    ///   - json: the object.
    ///   - file: its file, for the error.
    /// - Throws: `BackendError` with `.keys` for what is spelled otherwise.
    init(_ json: JSON, in file: String) throws(BackendError) {
        func seconds(_ name: String) throws(BackendError) -> Int64? {
            guard let value = json[name] else { return nil }
            guard case .number = value, let seconds = value.int64Value, seconds >= 0 else {
                throw BackendError(.keys, "\(file): \(name) must be whole seconds since 1970")
            }
            return seconds
        }
        if let value = json["psb_state"] {
            guard let state = value.stringValue.flatMap(State.init(rawValue:)) else {
                throw BackendError(.keys, "\(file): psb_state must be next, current or retired")
            }
            self.state = state
        }
        published = try seconds("psb_published")
        current = try seconds("psb_current")
        retired = try seconds("psb_retired")
        revoked = try seconds("psb_revoked")
        if state == .retired, retired == nil {
            throw BackendError(.keys, "\(file): a retired key needs psb_retired")
        }
    }

    /// The members that say it.
    var members: [JSONMember] {
        var members: [JSONMember] = []
        if let state { members.append(JSONMember("psb_state", .string(state.rawValue))) }
        for (name, value) in [
            ("psb_published", published), ("psb_current", current), ("psb_retired", retired),
            ("psb_revoked", revoked),
        ] {
            if let value { members.append(JSONMember(name, .integer(value))) }
        }
        return members
    }
}
