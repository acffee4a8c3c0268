/// The names of a batch's buckets, each once; their bytes lie with those of the batch.
struct BucketNames: Sendable {
    /// Where each name lies, in the order in which they came.
    private(set) var ranges: [Range<Int>] = []
    private var hashes: [Int] = []
    /// A table of a power of two places: one more than the index of a name, 0 for none.
    private var places: [Int32] = []

    /// Finds or adds the name at the end of bytes.
    ///
    /// - Parameters:
    ///   - start: Where the name begins.
    ///   - bytes: What it ends; a name that is known is taken off again.
    /// - Returns: Its index.
    mutating func index(ofNameFrom start: Int, in bytes: inout [UInt8]) -> Int {
        let hash = bytes.withUnsafeBytes { bytes in
            // The seed differs from process to process, so nobody can choose names that fall together.
            var hasher = Hasher()
            hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: bytes[start...]))
            return hasher.finalize()
        }
        if (ranges.count + 1) * 2 > places.count { grow() }
        var place = hash & (places.count - 1)
        while places[place] > 0 {
            let index = Int(places[place]) - 1
            if hashes[index] == hash, Self.isSame(ranges[index], start..<bytes.count, in: bytes) {
                bytes.removeLast(bytes.count - start)
                return index
            }
            place = (place + 1) & (places.count - 1)
        }
        ranges.append(start..<bytes.count)
        hashes.append(hash)
        places[place] = Int32(ranges.count)
        return ranges.count - 1
    }

    private static func isSame(_ one: Range<Int>, _ other: Range<Int>, in bytes: [UInt8]) -> Bool {
        one.count == other.count && bytes[one].elementsEqual(bytes[other])
    }

    private mutating func grow() {
        places = Array(repeating: 0, count: max(16, places.count * 2))
        for (index, hash) in hashes.enumerated() {
            var place = hash & (places.count - 1)
            while places[place] > 0 { place = (place + 1) & (places.count - 1) }
            places[place] = Int32(index + 1)
        }
    }
}
