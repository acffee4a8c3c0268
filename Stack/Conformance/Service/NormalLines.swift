import PowerSyncWire

/// Lines without what differs by nature: op ids, positions, ids of source tables, order of buckets, times.
package enum NormalLines {
    /// Returns one text for each line; lines are equal if their texts are.
    ///
    /// - Parameters:
    ///   - lines: what a stream sent.
    ///   - withTokens: whether `token_expires_in` counts.
    /// - Returns: the texts in the order of the lines, data of one checkpoint and priority by the name of the bucket.
    package static func texts(_ lines: [JSON], withTokens: Bool = false) -> [String] {
        var result: [String] = []
        var data: [(bucket: ExactText, text: String)] = []
        func flush() {
            // The order within a bucket counts, that of the buckets does not.
            let buckets = data.map(\.bucket)
            let order = Set(buckets).sorted()
            for bucket in order { result += data.filter { $0.bucket == bucket }.map(\.text) }
            data = []
        }
        for line in lines {
            if line["token_expires_in"] != nil, !withTokens { continue }
            let text = normal(line, "").text
            if let bucket = line["data"]?["bucket"]?.stringValue {
                data.append((ExactText(bucket), text))
            } else {
                flush()
                result.append(text)
            }
        }
        flush()
        return result
    }

    private static func normal(_ json: JSON, _ key: String) -> JSON {
        switch json {
        case .object(let members):
            let isRemove = json["op"]?.stringValue == "REMOVE"
            let isBucket = json["bucket"] != nil
            let isOperation = json["op"] != nil
            return .object(
                members.compactMap { member in
                    if isOperation, member.name == "data" { return Self.content(member) }
                    return Self.member(member, isRemove, isBucket)
                })
        case .array(let elements):
            let normal = elements.map { Self.normal($0, key) }
            let isUnordered =
                key == "buckets" || key == "updated_buckets" || key == "removed_buckets"
                || key == "subscriptions"
            return .array(isUnordered ? normal.sorted { $0.text < $1.text } : normal)
        case .string(let text) where key == "removed_buckets": return .string(BucketLabel(text).text.text)
        default: return json
        }
    }

    /// What an operation carries.
    private static func content(_ member: JSONMember) -> JSONMember {
        JSONMember("data", member.value.isNull ? .null : .string(RecordedJSON.canonical(member.value)))
    }

    private static func member(_ member: JSONMember, _ isRemove: Bool, _ isBucket: Bool) -> JSONMember? {
        switch member.name {
        case "op_id", "last_op_id", "after", "next_after":
            // Which number it is does not count, whether it is one in a text does.
            let isProper = member.value.stringValue.flatMap { Int64($0) } != nil
            return isProper ? JSONMember(member.name, .string("n")) : member
        case "checksum":
            // Those of REMOVE, and sums with them, contain the source table's id.
            if isRemove || isBucket { return nil }
            return JSONMember("checksum", member.value.int64Value.map { .integer($0) } ?? member.value)
        case "subkey":
            let key = member.value.stringValue?.split(separator: "/").last.map(String.init) ?? ""
            // Version 4 is random.
            return JSONMember("subkey", .string(key.dropFirst(14).first == "4" ? "random" : key))
        case "bucket":
            return JSONMember("bucket", .string(BucketLabel(member.value.stringValue ?? "").text.text))
        default: return JSONMember(member.name, normal(member.value, member.name))
        }
    }

    /// Returns where two sequences of normal lines first differ, in words; nil if they are equal.
    ///
    /// - Parameters:
    ///   - recorded: of the real service.
    ///   - received: of the service under test.
    /// - Returns: two lines with - and +.
    package static func difference(recorded: [String], received: [String]) -> String? {
        let (old, new) = (recorded.map { ExactText($0) }, received.map { ExactText($0) })
        guard old != new else { return nil }
        let index = Swift.zip(old, new).prefix { $0 == $1 }.map { _ in 0 }.count
        let was = index < recorded.count ? String(recorded[index].prefix(600)) : "no more line"
        let now = index < received.count ? String(received[index].prefix(600)) : "no more line"
        return "line \(index) differs:\n    - \(was)\n    + \(now)"
    }
}
