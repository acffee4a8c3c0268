/// Builds replication messages for tests, in the layout of service 7.11.
struct MessageBytes {
    private(set) var bytes: [UInt8]

    init(_ tag: Character) {
        bytes = Array("\(tag)".utf8)
    }

    func byte(_ value: UInt8) -> MessageBytes { appending([value]) }
    func mark(_ letter: Character) -> MessageBytes { appending(Array("\(letter)".utf8)) }
    func int16(_ value: Int16) -> MessageBytes {
        appending(withUnsafeBytes(of: value.bigEndian) { Array($0) })
    }
    func int32(_ value: Int32) -> MessageBytes {
        appending(withUnsafeBytes(of: value.bigEndian) { Array($0) })
    }
    func int64(_ value: Int64) -> MessageBytes {
        appending(withUnsafeBytes(of: value.bigEndian) { Array($0) })
    }
    func string(_ text: String) -> MessageBytes { appending(Array(text.utf8) + [0]) }
    func raw(_ text: String) -> MessageBytes { appending(Array(text.utf8)) }
    func text(_ value: String) -> MessageBytes { mark("t").int32(Int32(value.utf8.count)).raw(value) }

    private func appending(_ more: [UInt8]) -> MessageBytes {
        var copy = self
        copy.bytes += more
        return copy
    }
}
