#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A JSON object as SQLite's `json_object` writes rows, taken apart by the places of its bytes.
///
/// It knows the usual alone: compact, no value nested, no name with an escape or twice, texts spelled as this package
/// spells them, UTF-8. Then two texts are equal if their bytes are, and a value can be copied as it stands. Whatever
/// else is left to the reader that builds a tree.
struct FlatObject {
    /// One member; places in the text it was read from.
    struct Member {
        /// The name between its quotes.
        let name: Range<Int>
        /// The value as it is spelled.
        let value: Range<Int>
        let kind: JSONValueKind
    }

    /// What a value is, as far as comparing needs to know.
    enum JSONValueKind { case null, number, other }

    let text: UnsafeBufferPointer<UInt8>
    /// The members by name, in ascending order of its bytes.
    private(set) var members: [Member] = []

    /// Takes an object apart; nil for anything out of the usual, JSON or not.
    ///
    /// - Parameter text: the object; it must outlive this value.
    init?(_ text: UnsafeBufferPointer<UInt8>) {
        self.text = text
        guard text.count >= 2, text[0] == UInt8(ascii: "{") else { return nil }
        if text.count == 2, text[1] == UInt8(ascii: "}") { return }
        members.reserveCapacity(16)
        var reader = FlatObjectReader(text: text)
        guard reader.read(&members), !reader.hasHighBytes || Self.isUTF8(text) else { return nil }
        members.sort { Self.order(text, $0.name, text, $1.name) < 0 }
        for (one, next) in zip(members, members.dropFirst()) where order(one, next, in: text) == 0 {
            return nil
        }
    }

    /// Compares the names of a member of this object and one of another: below, at or above 0.
    func order(_ member: Member, _ other: Member, in text: UnsafeBufferPointer<UInt8>) -> Int {
        Self.order(self.text, member.name, text, other.name)
    }

    /// Whether a value and one of another object have the same bytes.
    func equals(_ member: Member, _ other: Member, in text: UnsafeBufferPointer<UInt8>) -> Bool {
        Self.order(self.text, member.value, text, other.value) == 0
    }

    private static func order(
        _ first: UnsafeBufferPointer<UInt8>, _ one: Range<Int>, _ second: UnsafeBufferPointer<UInt8>,
        _ other: Range<Int>
    ) -> Int {
        let common = min(one.count, other.count)
        guard common > 0, let first = first.baseAddress, let second = second.baseAddress else {
            return one.count - other.count
        }
        let order = memcmp(first + one.lowerBound, second + other.lowerBound, common)
        return order == 0 ? one.count - other.count : Int(order)
    }

    /// Appends a part of the text.
    func append(_ range: Range<Int>, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[range]))
    }

    private static func isUTF8(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        String(validating: text, as: UTF8.self) != nil
    }
}

/// Reads the members of a flat object from left to right.
private struct FlatObjectReader {
    let text: UnsafeBufferPointer<UInt8>
    var place = 1
    /// Whether there is a byte beyond ASCII.
    var hasHighBytes = false

    /// Returns whether all of the text is a flat object.
    mutating func read(_ members: inout [FlatObject.Member]) -> Bool {
        while true {
            guard let name = string(allowingEscapes: false), pass(UInt8(ascii: ":")) else { return false }
            let start = place
            guard let kind = value() else { return false }
            members.append(
                FlatObject.Member(
                    name: name.lowerBound + 1..<name.upperBound - 1, value: start..<place, kind: kind))
            if pass(UInt8(ascii: ",")) { continue }
            return pass(UInt8(ascii: "}")) && place == text.count
        }
    }

    private mutating func pass(_ byte: UInt8) -> Bool {
        guard place < text.count, text[place] == byte else { return false }
        place += 1
        return true
    }

    /// Passes a text with its quotes.
    private mutating func string(allowingEscapes: Bool) -> Range<Int>? {
        let start = place
        guard pass(UInt8(ascii: "\"")) else { return nil }
        while place < text.count {
            let byte = text[place]
            place += 1
            switch byte {
            case UInt8(ascii: "\""): return start..<place
            case UInt8(ascii: "\\"):
                guard allowingEscapes, place < text.count, Self.isShortEscape(text[place]) else { return nil }
                place += 1
            case 0..<0x20: return nil
            case 0x80...: hasHighBytes = true
            default: continue
            }
        }
        return nil
    }

    /// Whether a letter behind a backslash is one that this package would write, too.
    private static func isShortEscape(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            true
        default: false
        }
    }

    /// Passes a value.
    private mutating func value() -> FlatObject.JSONValueKind? {
        guard place < text.count else { return nil }
        switch text[place] {
        case UInt8(ascii: "\""): return string(allowingEscapes: true) == nil ? nil : .other
        case UInt8(ascii: "n"): return word("null") ? .null : nil
        case UInt8(ascii: "t"): return word("true") ? .other : nil
        case UInt8(ascii: "f"): return word("false") ? .other : nil
        default: return number() ? .number : nil
        }
    }

    private mutating func word(_ word: StaticString) -> Bool {
        for index in 0..<word.utf8CodeUnitCount where !pass(word.utf8Start[index]) { return false }
        return true
    }

    /// Passes a number (RFC 8259 6) of no more digits than any that means something.
    private mutating func number() -> Bool {
        let start = place
        _ = pass(UInt8(ascii: "-"))
        if !pass(UInt8(ascii: "0")), !digits() { return false }
        if pass(UInt8(ascii: ".")), !digits() { return false }
        if pass(UInt8(ascii: "e")) || pass(UInt8(ascii: "E")) {
            if !pass(UInt8(ascii: "+")) { _ = pass(UInt8(ascii: "-")) }
            if !digits() { return false }
        }
        return place - start <= 512
    }

    private mutating func digits() -> Bool {
        let start = place
        while place < text.count, text[place] &- UInt8(ascii: "0") < 10 { place += 1 }
        return place > start
    }
}
