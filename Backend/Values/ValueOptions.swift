/// What to do with a text that is sent for a JSON column (backend 2.4).
package enum JSONStrings: String, Sendable, Hashable {
    /// Store what the text says; the default, since clients hold JSON as texts. A text that is no JSON is refused.
    case parse
    /// Store the text itself, as the demo backends do.
    case keep
}

/// How a text spells bytes that do not begin with `\x` (backend 2.4).
package enum BytesEncoding: String, Sendable, Hashable {
    /// Base64 with padding (RFC 4648 4).
    case base64
    /// Pairs of hexadecimal digits.
    case hex
}

/// What a number means where a moment is wanted (backend 2.4).
package enum EpochUnit: String, Sendable, Hashable {
    /// Seconds since 1970.
    case seconds = "s"
    /// Milliseconds since 1970.
    case milliseconds = "ms"

    /// How many powers of ten one of these is above a microsecond.
    var microsecondsExponent: Int {
        switch self {
        case .seconds: 6
        case .milliseconds: 3
        }
    }
}

/// What the table map says about the values of a column, beside its type.
package struct ValueOptions: Sendable, Hashable {
    /// What a text in a JSON column means.
    package var jsonStrings = JSONStrings.parse
    /// How bytes are spelled.
    package var encoding = BytesEncoding.base64
    /// Whether infinity is a value; then what the sync service prints in its place is read as infinity, too.
    package var hasInfinity = false
    /// What a number means as a moment; nil refuses numbers.
    package var epoch: EpochUnit?
    /// Whether an empty text is NULL.
    package var emptyIsNull = false

    /// Makes the options of a column that the map does not mention.
    package init() {}

    /// The options of an array's elements: an empty text in it is one.
    var ofElements: ValueOptions {
        var options = self
        options.emptyIsNull = false
        return options
    }

    /// The members of the map that say something about columns of such a kind in vain.
    func useless(for kind: ColumnKind) -> [String] {
        switch kind {
        case .array(let element): return useless(for: element)
        case .range(let bound): return bound.map(useless) ?? []
        default: break
        }
        let isMoment = [.instant, .timestamp, .date].contains(kind)
        var members: [String] = []
        if encoding != .base64, kind != .bytes { members.append("encoding") }
        if epoch != nil, !isMoment { members.append("epoch") }
        switch kind {
        case .numeric, .real, .instant, .timestamp, .date: break
        default: if hasInfinity { members.append("infinity") }
        }
        return members
    }
}
