import PowerSyncSystem
import Testing

struct IPRangesTests {
    @Test(arguments: [
        ("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("FE80::0:1%1", "fe80::1%1"),
        ("::ffff:10.0.0.1", "::ffff:10.0.0.1"),
    ])
    func addressesAreReadAndWritten(_ text: String, _ expected: String) throws {
        #expect(try #require(IPAddress(text)).description == expected)
    }

    @Test(arguments: [
        ("::ffff:10.0.0.1", "10.0.0.1"), ("10.0.0.1", "10.0.0.1"), ("::1", "::1"), ("fe80::1%1", "fe80::1%1"),
        // These belong to whoever has them, and not to the address of version 4 in them.
        ("::10.0.0.1", "::10.0.0.1"), ("2002:a00:1::", "2002:a00:1::"), ("64:ff9b::a00:1", "64:ff9b::a00:1"),
    ])
    func aMappedAddressIsOneOfVersion4(_ text: String, _ expected: String) throws {
        let address = try #require(IPAddress(text))
        #expect(address.unmapped == IPAddress(expected))
    }

    /// One range alone is strict: it says who is trusted.
    @Test(arguments: [
        ("10.0.0.0/8", "10.0.0.1", true), ("::ffff:10.0.0.0/104", "10.0.0.1", true),
        ("fd00::/8", "fd00::1", true), ("fe80::/10", "fe80::1%1", true), ("10.0.0.0/8", "11.0.0.1", false),
        ("10.0.0.0/8", "::10.0.0.1", false), ("10.0.0.0/8", "2002:a00:1::", false),
        ("10.0.0.0/8", "64:ff9b::a00:1", false), ("0.0.0.0/0", "::1", false), ("::/0", "127.0.0.1", false),
    ])
    func oneRangeHoldsAddressesOfItsVersionAlone(_ range: String, _ address: String, _ isIn: Bool) throws {
        let range = try #require(IPRange(range))
        #expect(range.contains(try #require(IPAddress(address))) == isIn)
    }

    @Test(arguments: [
        ("0.0.0.0/0", true), ("::/0", true), ("::ffff:0:0/96", true), ("10.1.2.3/0", true),
        ("0.0.0.0/1", false), ("::/1", false), ("0.0.0.0", false), ("::", false),
    ])
    func aRangeOfNoBitsIsEverything(_ range: String, _ isEverything: Bool) throws {
        #expect(try #require(IPRange(range)).isEverything == isEverything)
    }

    /// Some of these are addresses to `getaddrinfo`, which is then asked.
    @Test(arguments: [
        "", "localhost", "127.1", "0x7f.1", "2130706433", "1.2.3.4.5", "::1%no-such-interface", "1\0",
    ])
    func whatIsNotSpelledInTheUsualWayIsNoAddress(_ text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test(arguments: [
        "", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "::/129", "locals", "10/8",
        "fe80::1%1/64",
    ])
    func whatIsNoRangeIsNone(_ text: String) {
        #expect(IPRange(text) == nil)
    }

    @Test(arguments: [
        ("10.0.0.0/8", "10.255.255.255", true), ("10.0.0.0/8", "11.0.0.0", false),
        ("10.1.2.3/8", "10.0.0.1", true), ("10.1.2.3", "10.1.2.3", true), ("10.1.2.3", "10.1.2.4", false),
        ("10.1.2.0/23", "10.1.3.9", true), ("10.1.2.0/23", "10.1.4.0", false), ("0.0.0.0/0", "8.8.8.8", true),
        ("fd00::/8", "fdff::1", true), ("fd00::/8", "fc00::1", false), ("::/0", "fc00::1", true),
        ("::/0", "8.8.8.8", false),
        // An address of version 4 in one of version 6, in each of the ways in which packets reach it.
        ("10.0.0.0/8", "::ffff:10.0.0.1", true), ("10.0.0.0/8", "::10.0.0.1", true),
        ("10.0.0.0/8", "64:ff9b::10.0.0.1", true), ("10.0.0.0/8", "2002:a00:1::", true),
        ("10.0.0.0/8", "::ffff:0:10.0.0.1", true), ("10.0.0.0/8", "::ffff:0:11.0.0.1", false),
        ("::ffff:10.0.0.0/104", "10.0.0.1", true), ("::ffff:10.0.0.0/104", "11.0.0.1", false),
    ])
    func aRangeHoldsWhatBeginsAsItDoes(_ range: String, _ address: String, _ isIn: Bool) throws {
        let ranges = IPRanges([try #require(IPRange(range))])
        #expect(ranges.contains(try #require(IPAddress(address))) == isIn)
    }

    @Test(arguments: [
        ("127.0.0.1", true), ("127.255.0.1", true), ("0.0.0.0", true), ("10.0.0.1", true),
        ("172.31.0.1", true),
        ("172.32.0.1", false), ("192.168.1.1", true), ("169.254.169.254", true), ("100.64.0.1", true),
        ("224.0.0.1", true), ("255.255.255.255", true), ("8.8.8.8", false), ("1.1.1.1", false),
        ("::", true), ("::1", true), ("fe80::1%1", true), ("fd12::1", true), ("ff02::1", true),
        ("::ffff:127.0.0.1", true), ("::ffff:8.8.8.8", false), ("64:ff9b::7f00:1", true),
        ("2002:7f00:1::", true), ("::ffff:0:127.0.0.1", true), ("::ffff:0:8.8.8.8", false),
        ("2606:4700:4700::1111", false), ("2a00:1450:4001::1", false),
    ])
    func localIsWhatThePublicInternetDoesNotReach(_ address: String, _ isLocal: Bool) throws {
        #expect(IPRanges.local.contains(try #require(IPAddress(address))) == isLocal)
    }

    @Test(arguments: [
        ("127.0.0.1", true), ("127.8.8.8", true), ("::1", true), ("::ffff:127.0.0.1", true),
        ("localhost", true),
        ("0.0.0.0", false), ("::", false), ("128.0.0.1", false), ("::2", false), ("10.0.0.1", false),
        // Somebody far away may have such an address, or such a name.
        ("64:ff9b::7f00:1", false), ("::127.0.0.1", false), ("localhost.example.com", false),
        ("127.1", false), ("", false),
    ])
    func whatNeverLeavesThisMachineIsKnown(_ host: String, _ isLoopback: Bool) {
        #expect(IPAddress.isLoopback(host: host) == isLoopback)
    }
}
