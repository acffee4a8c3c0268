/// Cuts bytes at edges that a seed alone decides; some chunks are empty.
enum Chunks {
    static func cut(_ bytes: [UInt8], seed: UInt8) -> [[UInt8]] {
        var chunks: [[UInt8]] = []
        var state = UInt64(seed) &+ 1
        var start = 0
        while start < bytes.count {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let size = Int(state >> 59) * (seed & 2 == 0 ? 1 : 40)
            let end = min(start + max(size, 1), bytes.count)
            chunks.append(Array(bytes[start..<end]))
            if size == 0 { chunks.append([]) }
            start = end
        }
        return chunks
    }
}
