/// A range of addresses that begin with the same bits (RFC 4632 3.1).
package struct IPRange: Sendable, Hashable {
    private let bytes: [UInt8]
    private let length: Int

    /// Reads `10.0.0.0/8` or `fd00::/8`, or one address alone; what stands behind the length does not count.
    ///
    /// Nil for everything else.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(
            String.init)
        guard let address = IPAddress(parts[0]), address.scope == 0 else { return nil }
        let bits = address.bytes.count * 8
        var length = bits
        if parts.count == 2 {
            guard let number = Int(parts[1]), parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                number <= bits
            else { return nil }
            length = number
        }
        // Addresses of version 4 are looked up as such, however they came.
        let mapped = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]
        let isMapped = address.bytes.count == 16 && address.bytes.starts(with: mapped) && length >= 96
        bytes = isMapped ? Array(address.bytes[12...]) : address.bytes
        self.length = isMapped ? length - 96 : length
    }

    /// Whether it is every address of its version.
    package var isEverything: Bool { length == 0 }

    /// Whether an address of the same version lies in it.
    ///
    /// What stands in an address of version 6 in other ways than `IPAddress.unmapped` knows does not count, as it does in
    /// `IPRanges`: somebody far away may have such an address, who must not be taken for one that is trusted.
    package func contains(_ address: IPAddress) -> Bool {
        guard address.bytes.count == bytes.count else { return false }
        return bytes.indices.allSatisfy { index in
            let counted = min(8, max(0, length - index * 8))
            let mask = UInt8(truncatingIfNeeded: 0xFF00 >> counted)
            return bytes[index] & mask == address.bytes[index] & mask
        }
    }
}

/// Ranges of addresses, of both versions.
package struct IPRanges: Sendable, Equatable {
    private var ranges: [IPRange]

    /// Makes a collection of ranges.
    package init(_ ranges: [IPRange] = []) { self.ranges = ranges }

    /// Everything that is not reached through the public Internet: this machine, private and link-local networks, multicast,
    /// and what is reserved (the registries of RFC 6890).
    package static let local = IPRanges(
        [
            "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
            "192.0.0.0/24", "192.0.2.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24",
            "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4", "::/128", "::1/128", "64:ff9b:1::/48", "100::/64",
            "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10",
            "ff00::/8",
        ].compactMap(IPRange.init))

    /// Whether there are none.
    package var isEmpty: Bool { ranges.isEmpty }

    /// Adds other ranges.
    package mutating func formUnion(_ other: IPRanges) { ranges += other.ranges }

    /// Adds a range.
    package mutating func insert(_ range: IPRange) { ranges.append(range) }

    /// Whether an address lies in one of them; one of version 6 also by the address of version 4 that stands in it.
    package func contains(_ address: IPAddress) -> Bool {
        address.forms.contains { form in ranges.contains { $0.contains(form) } }
    }
}
