/// Parts of BSON documents that are put together of bytes.
enum BSONText {
    /// Returns what begins an element: its type, by default that of a text, and its name.
    static func name(_ name: String, type: UInt8 = 2) -> [UInt8] {
        var bytes = [type]
        bytes.append(contentsOf: name.utf8)
        bytes.append(0)
        return bytes
    }

    /// Returns an element that is a text.
    static func element(_ name: String, _ text: String) -> [UInt8] {
        var bytes = self.name(name)
        bytes += number(Int32(text.utf8.count + 1))
        bytes.append(contentsOf: text.utf8)
        bytes.append(0)
        return bytes
    }

    /// Returns a number of 32 bits.
    static func number(_ number: Int32) -> [UInt8] { withUnsafeBytes(of: number.littleEndian) { Array($0) } }
}
