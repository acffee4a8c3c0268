import PowerSyncWire

extension ScalarValue {
    /// Whether it counts as true in the default engine (service 6.12): a number that is not 0, a text that begins with
    /// such a whole number; NULL and blobs never do.
    package var holds: Bool {
        switch self {
        case .null, .blob: false
        case .integer(let integer): integer != 0
        case .real(let real): real != 0
        case .wide: true
        case .text(let text): Self.beginsWithNumber(text.text.utf8)
        }
    }

    /// Whether there is a digit other than 0 among those that a text begins with, behind blanks and a sign.
    private static func beginsWithNumber(_ text: String.UTF8View) -> Bool {
        var rest = text.drop { $0 == 0x20 || $0 == 0x09 || $0 == 0x0A }
        if rest.first == UInt8(ascii: "-") || rest.first == UInt8(ascii: "+") { rest = rest.dropFirst() }
        guard let digit = rest.first(where: { $0 != UInt8(ascii: "0") }) else { return false }
        return digit > UInt8(ascii: "0") && digit <= UInt8(ascii: "9")
    }
}
