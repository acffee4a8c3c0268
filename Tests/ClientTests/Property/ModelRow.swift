/// The identity of a synced row.
struct ModelRow: Hashable, Comparable, CustomStringConvertible {
    let type: String
    let id: String

    static func < (left: ModelRow, right: ModelRow) -> Bool {
        left.type == right.type ? left.id < right.id : left.type < right.type
    }

    var description: String { "\(type)/\(id)" }
}

/// The data of a row: its text, and what a view with the columns `title` and `n` shows of it.
struct ModelContent: Hashable {
    let text: String
    let title: String?
    let n: Int?

    /// What the service sends: other members stand beside those of the columns, and a column may be missing.
    init(id: String, title: String?, n: Int?, extra: Int?) {
        var members = ["\"id\":\"\(id)\""]
        if let extra { members.append("\"x\":[\(extra),null]") }
        if let title { members.append("\"title\":\"\(title)\"") }
        if let n { members.append("\"n\":\(n)") }
        text = "{" + members.joined(separator: ",") + "}"
        self.title = title
        self.n = n
    }

    /// What a local write stores: all columns in the order of the schema (client-core 2.4).
    init(localTitle title: String?, n: Int?) {
        text = "{\"title\":\(title.map { "\"\($0)\"" } ?? "null"),\"n\":\(n.map(String.init) ?? "null")}"
        self.title = title
        self.n = n
    }

    /// The difference that the queue holds (client-core 2.6); `old` is nil for a row that is new.
    static func difference(from old: ModelContent?, to new: ModelContent) -> String {
        var members: [String] = []
        if let n = new.n, n != old?.n { members.append("\"n\":\(n)") }
        if new.n == nil, old?.n != nil { members.append("\"n\":null") }
        if let title = new.title, title != old?.title { members.append("\"title\":\"\(title)\"") }
        if new.title == nil, old?.title != nil { members.append("\"title\":null") }
        return "{" + members.joined(separator: ",") + "}"
    }

    /// Values whose characters have one to four bytes, so that a chunk's edge can cut them.
    static let titles = ["a", "milk", "käse", "日本", "😀", "line\u{2028}", "x y"]
}
