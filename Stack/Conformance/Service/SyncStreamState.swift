import PowerSyncWire

/// What a client knows after the lines of one stream, recorded or received; it also checks what every line must keep
/// (service 3.3).
package struct SyncStreamState: Sendable {
    /// What a checkpoint says of one bucket.
    package struct Listing: Sendable {
        /// The name as it was sent.
        package var name: String
        /// The sum of the checksums.
        package var checksum: Checksum
        /// How many operations there are.
        package var count: Int64?
        /// Priority and reasons now.
        package var terms: Terms
        /// Priority and reasons when the content last changed, which the real service keeps until then (3.14 D3).
        package var settledTerms: Terms
    }

    /// Why and how urgently a bucket is synced.
    package struct Terms: Hashable, Sendable {
        /// From 0, the most urgent.
        package var priority: Int64
        /// `default NAME` for each default stream, `subscription I` for each subscription, as often as they were sent.
        package var reasons: [ExactText]

        /// How many of them are default streams.
        package var defaultCount: Int { reasons.count { $0.text.hasPrefix("default ") } }
    }

    /// One entry of `streams`.
    package struct Stream: Hashable, Sendable {
        /// The name.
        package var name: String
        /// Whether it is synced without a subscription.
        package var isDefault: Bool
        /// What is wrong with it, as compact JSON.
        package var errors: [String]
    }

    /// The head of the answer, once it has come.
    package var response: RecordedAnswer?
    /// The buckets of the last checkpoint by their label.
    package private(set) var listed: [ExactText: Listing] = [:]
    /// The streams of the last full checkpoint.
    package private(set) var streams: [Stream] = []
    /// The write checkpoint of the last checkpoint.
    package private(set) var writeCheckpoint: String?
    /// How many checkpoints behind the first changed what the client holds: contents, or which buckets there are.
    package private(set) var changes = 0
    /// How many checkpoints were completed.
    package private(set) var completions = 0
    /// Whether the last checkpoint was completed.
    package private(set) var isComplete = false
    /// The seconds that the token was said to be valid for.
    package private(set) var tokenSeconds: [Int64] = []
    /// Labels of buckets whose checksum did not fit the operations when the last checkpoint was completed.
    package private(set) var unfit: Set<ExactText> = []
    /// The types in all lines that came as BSON.
    package var types = BSONTypes()
    /// What lines broke that every line must keep.
    package private(set) var broken: [String] = []

    /// The name under which each label was last sent, in whichever direction.
    package private(set) var names: [ExactText: String] = [:]

    private let isRecorded: Bool
    /// Contents by label; one stream has one number in all of its names.
    private var contents: [ExactText: SyncedBucket] = [:]
    /// What was held of buckets that are not listed any more, for those who take over positions.
    private var former: [ExactText: SyncedBucket] = [:]
    private var lastOpID: Int64 = 0
    private var hasCheckpoint = false

    /// Makes the state of a client that has nothing.
    ///
    /// - Parameter isRecorded: whether the lines are the real service's, which may repeat operations (3.14 D1).
    package init(isRecorded: Bool) { self.isRecorded = isRecorded }

    /// What is held of the listed buckets, by label.
    package var held: [ExactText: SyncedBucket] { contents.filter { listed[$0.key] != nil } }

    /// Returns what was reached of a bucket, listed or not.
    package func reached(_ label: ExactText) -> SyncedBucket? { contents[label] ?? former[label] }

    /// Begins with positions that are sent in the request.
    ///
    /// - Parameters:
    ///   - name: the bucket, as it is sent.
    ///   - position: what is sent as `after`.
    ///   - bucket: what another stream held of it; nil if nobody knows.
    package mutating func begin(_ name: String, at position: Int64, from bucket: SyncedBucket?) {
        var content = bucket ?? SyncedBucket(unknownUpTo: position)
        content.position = position
        let label = BucketLabel(name).text
        names[label] = name
        contents[label] = content
    }

    /// Applies one line.
    package mutating func apply(_ line: JSON) {
        guard let members = line.objectMembers, members.count == 1, let member = members.first else {
            return broken.append("a line with other than one key: \(line.text.prefix(200))")
        }
        let value = member.value
        switch member.name {
        case "checkpoint": checkpoint(value)
        case "checkpoint_diff": diff(value)
        case "data": data(value)
        case "partial_checkpoint_complete": checkLastOpID(value, member.name)
        case "checkpoint_complete":
            checkLastOpID(value, member.name)
            complete()
        case "token_expires_in": tokenSeconds.append(value.int64Value ?? -1)
        default: broken.append("a line of kind \(member.name)")
        }
    }

    private mutating func checkpoint(_ value: JSON) {
        streams = (value["streams"]?.arrayValue ?? []).map { stream in
            Stream(
                name: stream["name"]?.stringValue ?? "", isDefault: stream["is_default"]?.boolValue ?? false,
                errors: (stream["errors"]?.arrayValue ?? []).map(\.text))
        }
        let before = listed
        listed = [:]
        for bucket in value["buckets"]?.arrayValue ?? [] { list(bucket, before: before) }
        if hasCheckpoint { noteChanges(since: before) }
        for (label, content) in contents where listed[label] == nil { forget(label, content) }
        hasCheckpoint = true
        begin(value)
    }

    private mutating func diff(_ value: JSON) {
        if !hasCheckpoint { broken.append("a checkpoint_diff before the first checkpoint") }
        let former = listed
        for name in value["removed_buckets"]?.arrayValue ?? [] {
            let label = BucketLabel(name.stringValue ?? "").text
            if listed.removeValue(forKey: label) == nil {
                broken.append("\(label) is removed but not listed")
            }
            if let content = contents[label] { forget(label, content) }
        }
        let before = listed
        for bucket in value["updated_buckets"]?.arrayValue ?? [] { list(bucket, before: before) }
        noteChanges(since: former)
        begin(value)
    }

    /// Counts a checkpoint if it says more than priorities, reasons and the write checkpoint.
    private mutating func noteChanges(since before: [ExactText: Listing]) {
        let isSame =
            before.count == listed.count
            && listed.allSatisfy { label, listing in
                before[label].map { $0.checksum == listing.checksum && $0.count == listing.count } == true
            }
        if !isSame { changes += 1 }
    }

    private mutating func begin(_ checkpoint: JSON) {
        writeCheckpoint = checkpoint["write_checkpoint"]?.stringValue
        isComplete = false
        guard let opID = Self.number(checkpoint["last_op_id"]) else {
            return broken.append("a checkpoint without last_op_id")
        }
        if opID < lastOpID { broken.append("last_op_id falls from \(lastOpID) to \(opID)") }
        lastOpID = opID
    }

    private mutating func forget(_ label: ExactText, _ content: SyncedBucket) {
        former[label] = content
        contents[label] = nil
    }

    private mutating func list(_ bucket: JSON, before: [ExactText: Listing]) {
        guard let name = bucket["bucket"]?.stringValue,
            let checksum = bucket["checksum"]?.int64Value.flatMap(Checksum.init(exactly:)),
            let priority = bucket["priority"]?.int64Value
        else { return broken.append("a bucket without name, checksum or priority: \(bucket.text)") }
        let label = BucketLabel(name).text
        // A bucket that was not listed begins at its first operation, unless the request had a position of it.
        if contents[label] == nil || names[label] != name { contents[label] = SyncedBucket() }
        names[label] = name
        let terms = Terms(
            priority: priority,
            reasons: (bucket["subscriptions"]?.arrayValue ?? []).map { ExactText(reason($0)) })
        var listing = Listing(
            name: name, checksum: checksum, count: bucket["count"]?.int64Value, terms: terms,
            settledTerms: terms)
        if let known = before[label], known.checksum == checksum, known.count == listing.count {
            listing.settledTerms = known.settledTerms
        }
        listed[label] = listing
    }

    private func reason(_ json: JSON) -> String {
        if let index = json["default"]?.int64Value {
            return streams.indices.contains(Int(index))
                ? "default \(streams[Int(index)].name)" : "default of no stream, \(index)"
        }
        return "subscription \(json["sub"]?.text ?? json.text)"
    }

    private mutating func data(_ value: JSON) {
        let name = value["bucket"]?.stringValue ?? ""
        let label = BucketLabel(name).text
        guard listed[label]?.name == name, var content = contents[label] else {
            return broken.append("data of \(name), which is not listed")
        }
        defer { contents[label] = content }
        guard let after = Self.number(value["after"]), let next = Self.number(value["next_after"]),
            value["has_more"]?.boolValue != nil
        else { return broken.append("data of \(name) without a proper after, next_after or has_more") }
        if after != content.position {
            broken.append("data of \(name) after \(after) where \(content.position) was reached")
        }
        for operation in value["data"]?.arrayValue ?? [] {
            guard let opID = Self.number(operation["op_id"]) else {
                return broken.append("an operation of \(name) without op_id")
            }
            if opID <= content.position {
                // The real service repeats operations of some buckets (3.14 D1).
                if !isRecorded { broken.append("operation \(opID) of \(name) behind \(content.position)") }
                continue
            }
            if opID > lastOpID { broken.append("operation \(opID) of \(name) above the checkpoint") }
            if let mistake = content.apply(operation) { broken.append("\(name): \(mistake)") }
            content.position = opID
        }
        if next != content.position {
            broken.append("next_after \(next) of \(name) where \(content.position) was reached")
        }
    }

    private mutating func checkLastOpID(_ value: JSON, _ kind: String) {
        if let opID = Self.number(value["last_op_id"]), opID == lastOpID { return }
        broken.append("\(kind) with last_op_id \(value["last_op_id"]?.text ?? "none") for \(lastOpID)")
    }

    private mutating func complete() {
        isComplete = true
        completions += 1
        unfit = Set(
            listed.compactMap { label, listing in
                guard let content = contents[label], content.isWhole, content.sum != listing.checksum else {
                    return nil
                }
                return label
            })
    }

    private static func number(_ json: JSON?) -> Int64? { json?.stringValue.flatMap { Int64($0) } }
}
