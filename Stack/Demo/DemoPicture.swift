/// The picture of the demo, made in code: a small PNG without compression.
enum DemoPicture {
    /// Its media type.
    static let mediaType = "image/png"
    /// What its name ends with.
    static let fileExtension = "png"

    /// How many pixels it is wide and high: so many that all of it is one block of deflate.
    private static let side = 64
    private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    /// Eight bits for each of red, green and blue; no interlacing.
    private static let format: [UInt8] = [8, 2, 0, 0, 0]

    /// Returns the bytes of the file (W3C, Portable Network Graphics).
    static func png() -> [UInt8] {
        let size = bigEndian(UInt32(side))
        return signature + chunk("IHDR", size + size + format) + chunk("IDAT", zlib(pixels()))
            + chunk("IEND", [])
    }

    /// Returns the lines from top to bottom, each with the number of its filter, which is none, before it.
    private static func pixels() -> [UInt8] {
        var bytes: [UInt8] = []
        for row in 0..<side {
            bytes.append(0)
            for column in 0..<side {
                bytes.append(UInt8(row * 255 / (side - 1)))
                bytes.append(UInt8(column * 255 / (side - 1)))
                bytes.append(0x80)
            }
        }
        return bytes
    }

    /// Returns a chunk: its length, its type and its content, and the checksum of both.
    private static func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
        let checked = Array(type.utf8) + content
        return bigEndian(UInt32(content.count)) + checked + bigEndian(crc32(checked))
    }

    /// Returns bytes as a zlib stream of one block that is stored as it is (RFC 1950; RFC 1951, 3.2.4).
    private static func zlib(_ bytes: [UInt8]) -> [UInt8] {
        let length = UInt16(bytes.count)
        let lengths = [length, ~length].flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
        return [0x78, 0x01, 0x01] + lengths + bytes + bigEndian(adler32(bytes))
    }

    private static func bigEndian(_ number: UInt32) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }

    /// Returns the checksum of a chunk (ISO 3309).
    private static func crc32(_ bytes: [UInt8]) -> UInt32 {
        var sum = UInt32.max
        for byte in bytes {
            sum ^= UInt32(byte)
            for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
        }
        return ~sum
    }

    /// Returns the checksum of a zlib stream (RFC 1950, 8.2).
    private static func adler32(_ bytes: [UInt8]) -> UInt32 {
        var (low, high) = (UInt32(1), UInt32(0))
        for byte in bytes {
            low = (low + UInt32(byte)) % 65521
            high = (high + low) % 65521
        }
        return high << 16 | low
    }
}
